// aclnnGridSampler2DBackward, after the A2 kernels: bilinear, nearest and bicubic, with three paddings.
#include "aclnnop/aclnn_grid_sampler2d_backward.h"

#include <cmath>

#include "sim.h"

using namespace standin;

namespace {

enum Interpolation { BILINEAR, NEAREST, BICUBIC };
enum Padding { ZEROS, BORDER, REFLECTION };

struct Plan {
    Tensor grad, input, grid, input_grad, grid_grad;
    int64_t mode, padding;
    bool align, want_input, want_grid;
};

struct Position {
    double at, slope;  // the pixel coordinate, and its derivative by the grid value
};

void clip(Position &p, int64_t size) {  // the ends of the range count as outside
    bool inside = p.at > 0 && p.at < size - 1;
    if (!inside) p = {p.at >= size - 1 && size > 1 ? double(size - 1) : 0, 0};
}

void reflect(Position &p, int64_t size, bool align) {
    double low = align ? 0 : -0.5, span = align ? size - 1 : size;
    if (span == 0) {
        p = {0, 0};
        return;
    }
    double distance = std::fabs(p.at - low), turns = std::floor(distance / span), extra = distance - turns * span;
    bool odd = std::fmod(turns, 2) != 0;
    p.slope *= (p.at >= low ? 1 : -1) * (odd ? -1 : 1);
    p.at = odd ? span - extra + low : extra + low;
}

// Real kernels compute in float32; float64 tensors go to the AI CPU.
template <typename T>
Position unnormalise(T x, int64_t size, bool align) {
    return align ? Position{(x + 1) * T(0.5) * (size - 1), (size - 1) / 2.0}
                 : Position{((x + 1) * size - 1) * T(0.5), size / 2.0};
}

Position position(double value, int64_t size, const Plan &p) {
    Position at = p.input.type == ACL_DOUBLE ? unnormalise(value, size, p.align)
                                             : unnormalise(float(value), size, p.align);
    bool nan = std::isnan(at.at), far = std::fabs(at.at) > 2147483646.0;
    if (p.mode == BICUBIC) {  // the padding acts on each neighbour
        if (nan || far) at.at = p.padding == BORDER ? (nan || at.at < 0 ? 0 : size - 1) : -100;
        return at;
    }
    if (nan || (far && (p.padding == ZEROS || std::isinf(at.at)) && p.padding != BORDER)) return {-100, 0};
    if (p.padding == REFLECTION) reflect(at, size, p.align);
    if (p.padding != ZEROS) clip(at, size);
    return at;
}

struct Tap {
    int64_t at;           // -1: outside, no contribution
    double weight, slope;  // its weight, and the weight's derivative by the coordinate
};

double near_cubic(double x) { return (1.25 * x - 2.25) * x * x + 1; }  // A = -0.75, |x| <= 1
double near_slope(double x) { return (3.75 * x - 4.5) * x; }
double far_cubic(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }  // 1 < |x| < 2
double far_slope(double x) { return (-2.25 * x + 7.5) * x - 6; }

std::vector<Tap> taps(const Position &p, int64_t size, const Plan &plan) {
    double base = std::floor(p.at), t = p.at - base;
    auto at = [&](double index) { return index >= 0 && index < size ? int64_t(index) : -1; };
    if (plan.mode == NEAREST) return {{at(std::nearbyint(p.at)), 1, 0}};
    if (plan.mode == BILINEAR) return {{at(base), 1 - t, -1}, {at(base + 1), t, 1}};
    std::vector<Tap> four = {{0, far_cubic(1 + t), far_slope(1 + t)}, {0, near_cubic(t), near_slope(t)},
                             {0, near_cubic(1 - t), -near_slope(1 - t)}, {0, far_cubic(2 - t), -far_slope(2 - t)}};
    for (int i = 0; i < 4; i++) {
        Position neighbour{base - 1 + i, 1};
        if (plan.padding == REFLECTION) reflect(neighbour, size, plan.align);
        if (plan.padding != ZEROS) clip(neighbour, size);
        four[i].at = at(neighbour.at);
    }
    return four;
}

void kernel(const Plan &p) {
    int64_t N = p.input.dim(0), C = p.input.dim(1), H = p.input.dim(2), W = p.input.dim(3);
    int64_t points = p.grid.dim(1) * p.grid.dim(2);
    std::vector<double> grad = read(p.grad), input = read(p.input), grid = read(p.grid);
    std::vector<double> input_grad(input.size()), grid_grad(grid.size());
    for (int64_t n = 0; n < N; n++)
        for (int64_t point = 0; point < points; point++) {
            int64_t place = (n * points + point) * 2;
            Position x = position(grid[place], W, p), y = position(grid[place + 1], H, p);
            double dx = 0, dy = 0;
            for (const Tap &row : taps(y, H, p))
                for (const Tap &column : taps(x, W, p)) {
                    if (row.at < 0 || column.at < 0) continue;
                    for (int64_t c = 0; c < C; c++) {
                        double g = grad[(n * C + c) * points + point];
                        int64_t pixel = ((n * C + c) * H + row.at) * W + column.at;
                        input_grad[pixel] += g * row.weight * column.weight;
                        dx += g * input[pixel] * row.weight * column.slope;
                        dy += g * input[pixel] * row.slope * column.weight;
                    }
                }
            grid_grad[place] = dx * x.slope;
            grid_grad[place + 1] = dy * y.slope;
        }
    if (p.want_input) write(p.input_grad, input_grad);
    if (p.want_grid) write(p.grid_grad, grid_grad);
}

}  // namespace

extern "C" {

aclnnStatus aclnnGridSampler2DBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *input, const aclTensor *grid, int64_t interpolationMode,
        int64_t paddingMode, bool alignCorners, const aclBoolArray *outputMask, aclTensor *inputGrad,
        aclTensor *gridGrad, uint64_t *workspaceSize, aclOpExecutor **executor) {
    Phase1 p("aclnnGridSampler2DBackward", false, workspaceSize, executor);
    return p.run([&] {
        p.pointers();
        if (!outputMask) {
            misuse("aclnnGridSampler2DBackward: outputMask is null, so nothing is computed");
            return p.nothing();
        }
        std::vector<bool> mask = p.bools(outputMask);
        size_t mask_size = mask.size();
        mask.resize(std::max<size_t>(mask_size, 2));
        bool nothing = !mask[0] && !mask[1], early = cann() < version(9, 1, 0, 1);
        if (early && mask_size < 2) misuse("aclnnGridSampler2DBackward: outputMask has fewer than 2 elements");
        if (early && nothing) return p.nothing();
        Plan plan{p.input("gradOutput", gradOutput), p.input("input", input), p.input("grid", grid),
                  p.output("inputGrad", inputGrad), p.output("gridGrad", gridGrad), interpolationMode, paddingMode,
                  alignCorners, mask[0], mask[1]};
        auto valid = [&](bool condition, const char *rule) {
            p.require(condition, ACLNN_ERR_PARAM_INVALID, "%s", rule);
        };
        Product soc = product();
        aclDataType type = plan.input.type;
        for (const Tensor *each : {&plan.grad, &plan.grid, &plan.input_grad, &plan.grid_grad})
            valid(each->type == type, "a dtype differs from that of input");
        valid(type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_DOUBLE ||
                  (type == ACL_BF16 && (soc == A2 || soc == A3 || soc == P950)), "this dtype is not supported");
        int64_t modes = cann() >= version(9, 1, 0, 2) ? 3 : 2;
        valid(interpolationMode >= 0 && interpolationMode < modes, "interpolationMode is out of range");
        valid(paddingMode >= 0 && paddingMode <= 2, "paddingMode is out of range");
        const Tensor &g = plan.grad, &i = plan.input, &at = plan.grid;
        valid(i.rank() == 4 && at.rank() == 4 && g.rank() == 4, "input, grid and gradOutput need 4 dimensions");
        valid(i.dim(0) == at.dim(0) && i.dim(0) == g.dim(0), "N differs");
        valid(i.dim(1) == g.dim(1), "C differs");
        valid(i.dim(2) != 0 && i.dim(3) != 0, "input has no pixels");
        valid(at.dim(1) == g.dim(2) && at.dim(2) == g.dim(3), "grid does not match gradOutput");
        valid(at.dim(3) == 2, "the last dimension of grid is not 2");
        valid(plan.input_grad.dims == i.dims && plan.grid_grad.dims == at.dims, "an output has the wrong shape");
        valid(early || mask_size == 2, "outputMask needs 2 elements");
        if (!g.size() || !i.size() || !at.size() || nothing) return p.nothing();
        uint64_t workspace = p.copies({g, i, at, plan.input_grad, plan.grid_grad});
        int64_t channels = i.dim(i.format == ACL_FORMAT_NHWC ? 3 : 1);  // what chooses between AI Core and AI CPU
        if (type != ACL_DOUBLE && soc != P910 && soc != P950 && channels <= 2048) {
            workspace += p.temporaries({g, i, plan.input_grad});
            if (type != ACL_FLOAT) workspace += p.temporaries({as(ACL_FLOAT, plan.input_grad)});
        }
        p.launch(workspace, [plan] { kernel(plan); });
    });
}

aclnnStatus aclnnGridSampler2DBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                       aclrtStream stream) {
    return phase2("aclnnGridSampler2DBackward", workspace, workspaceSize, executor, stream);
}

}  // extern "C"
