// The kernel of hardswish_grad.cpp, with what the host worked out.
#define hardswish_grad hardswish_grad_of_n
#include "../../hardswish_grad.cpp"
#undef hardswish_grad

extern "C" __global__ __aicore__ void hardswish_grad(GM_ADDR grad_output, GM_ADDR self, GM_ADDR out, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    static_assert(std::is_same_v<DTYPE_SELF, float> && ORIG_DTYPE_OUT == DT_FLOAT, "the host's types are those of the call");
    if (TILING_KEY_IS(7)) {
        HardswishGrad op;
        op.Init(grad_output, self, out, data.totalLength);
        op.Process();
    }
}
