from checking.wrong.common import wide


def kernel(gradOutput, output):
    y = wide(output)
    return (wide(gradOutput) * (1 - y * y)).astype(output.dtype)
