"""The golden families by file name, in the order they are written."""

from . import binary, contract, conv_nd, indexing, movement, norm_loss, reduce, sequence, training, unary

FAMILIES = {
    "unary": unary.family_unary,
    "binary": binary.family_binary,
    "reduce": reduce.family_reduce,
    "creation": reduce.family_creation,
    "movement": movement.family_movement,
    "indexing": indexing.family_indexing,
    "inplace": indexing.family_inplace,
    "activation": unary.family_activation,
    "matmul": contract.family_matmul,
    "conv_pool": contract.family_conv_pool,
    "conv_nd": conv_nd.family_conv_nd,
    "norm_loss": norm_loss.family_norm_loss,
    "attention_embedding": norm_loss.family_attention_embedding,
    "layers": training.family_layers,
    "recurrent": sequence.family_recurrent,
    "transformer": sequence.family_transformer,
    "optimizer": training.family_optimizer,
    "lr": training.family_lr,
}
