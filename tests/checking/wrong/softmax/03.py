from checking.wrong.common import wide


def kernel(gradOutput, output, dim):
    g = wide(gradOutput)
    return g.reshape(output.shape).astype(output.dtype)
