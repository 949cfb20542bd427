from checking.wrong.common import wide


def kernel(gradOutput, output):
    y = wide(output)
    return (wide(gradOutput) * y * (1 - y)).astype(output.dtype)
