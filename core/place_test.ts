import { assert, assertEquals, assertStrictEquals, assertThrows } from "jsr:@std/assert@1";
import { PlaceError } from "./errors.ts";
import { Place } from "./place.ts";

Deno.test("equal names give the same place", () => {
  assertStrictEquals(Place.of("cpu"), Place.of("cpu"));
  assertStrictEquals(Place.of("webgpu"), Place.of("webgpu:0"));
  assertStrictEquals(Place.of("cuda:1"), Place.of("cuda:01"));
  assertStrictEquals(Place.of("cpu:0"), Place.of("cpu"));
  const place = Place.of("my-chip_2:3");
  assertStrictEquals(Place.of(place), place);
  assert(Place.of("cuda:0") !== Place.of("cuda:1"));
});

Deno.test("a place has a kind, a number and a name", () => {
  const of = (name: string) => {
    const p = Place.of(name);
    return [p.kind, p.index, p.name, `${p}`];
  };
  assertEquals(of("cpu"), ["cpu", 0, "cpu", "cpu"]);
  assertEquals(of("ref"), ["ref", 0, "ref", "ref"]);
  assertEquals(of("webgpu"), ["webgpu", 0, "webgpu:0", "webgpu:0"]);
  assertEquals(of("cuda:12"), ["cuda", 12, "cuda:12", "cuda:12"]);
});

Deno.test("what is no name is refused", () => {
  for (const name of ["", "CPU", "cpu:", "cpu:x", ":0", "cpu 0", "cpu:-1", "0", "cpu:1.5", "a/b"]) {
    assertThrows(() => Place.of(name), PlaceError, `Cannot use "${name}" as a place`);
  }
});

Deno.test("there is one cpu", () => {
  assertThrows(() => Place.of("cpu:1"), PlaceError, "there is only one");
  assertThrows(() => Place.of("ref:2"), PlaceError, "there is only one");
  assertEquals(Place.of("cpu").index, 0);
});
