// aclnnCrossEntropyLossGrad: with the mask m (target is not ignoreIndex), w = weight[target] and W = sum(w * m),
// nll = grad * (1 - ls) * m * w, divided by W for "mean", and
// out = exp(logProb) * (nll + sum(smooth)) - onehot * nll - smooth, smooth = grad * ls / C * m * weight, likewise.
#include "aclnnop/aclnn_cross_entropy_loss_grad.h"

#include <cmath>
#include <cstring>

#include "sim.h"

using namespace standin;

namespace {

#ifndef STANDIN_CE_REAL
#define STANDIN_CE_REAL double  // what the headers say; some tests build a library with float
#endif

struct Plan {
    Tensor grad, log_prob, target;
    std::optional<Tensor> weight, grad_zloss, lse;  // the last two are never read
    Tensor out;
    const char *reduction;  // the caller's bytes: the library reads them when the kernel is launched
    std::string seen;       // what they were in phase 1
    int64_t ignore;
    float smoothing, zloss;
};

std::string text_at(const char *string) {
    if (!string) return "mean";
    if (!is_mapped(string, 1)) {
        misuse("aclnnCrossEntropyLossGrad: reductionOptional points to no memory");
        return "";
    }
    return string;
}

void kernel(const Plan &p) {
    const bool is950 = product() == P950;
    std::string reduction = text_at(p.reduction);
    if (reduction != p.seen) misuse("aclnnCrossEntropyLossGrad: the bytes of reductionOptional changed before use");
    bool scalar = reduction == "mean" || reduction == "sum";
    if (!scalar && reduction != "none")
        misuse("aclnnCrossEntropyLossGrad: reduction %s acts as none", reduction.c_str());
    if (p.zloss != 0) misuse("aclnnCrossEntropyLossGrad: the z-loss is not computed");
    if (p.smoothing != 0 && !is950) {
        misuse("aclnnCrossEntropyLossGrad: label smoothing makes the kernel write nothing here");
        return;
    }
    int64_t N = p.log_prob.dim(0), C = p.log_prob.size() / N;
    Tensor all_grads = p.grad;
    all_grads.dims = {scalar ? 1 : N};
    all_grads.strides = {1};
    std::vector<double> grad = read(all_grads), log_prob = read(p.log_prob), target = read(p.target);
    std::vector<double> weight(C, 1.0), w(N), m(N), out(N * C);
    if (p.weight) {
        if (p.weight->type != ACL_FLOAT) misuse("aclnnCrossEntropyLossGrad: weightOptional is read as float32");
        weight = read(as(ACL_FLOAT, *p.weight));
    }
    float poison;
    memset(&poison, POISON, sizeof poison);
    double total = 0, ls = p.smoothing;
    for (int64_t row = 0; row < N; row++) {
        bool masks = !is950 || p.ignore >= 0;
        m[row] = !(masks && float(target[row]) == float(p.ignore));
        bool inside = target[row] >= 0 && target[row] < C;
        if (m[row] && !inside) {
            misuse("aclnnCrossEntropyLossGrad: target[%ld] = %.0f is not in [0, %ld)", long(row), target[row], long(C));
            if (is950) throw Failure{ACL_ERROR_RT_AICORE_EXCEPTION};
        }
        w[row] = inside ? weight[size_t(target[row])] : m[row] && p.weight ? poison : p.weight ? 0 : 1;
        total += w[row] * m[row];
    }
    for (int64_t row = 0; row < N; row++) {
        double g = grad[scalar ? 0 : row];
        if (reduction == "mean") g /= total;  // all ignored: a division by 0, and NaN everywhere
        double nll = g * (1 - ls) * m[row] * w[row], smooth = g * ls / C * m[row], smooth_sum = 0;
        for (int64_t c = 0; c < C && ls != 0; c++) smooth_sum += smooth * weight[c];
        for (int64_t c = 0; c < C; c++)
            out[row * C + c] = std::exp(log_prob[row * C + c]) * (nll + smooth_sum) -
                               (c == target[row] ? nll : 0) - (ls != 0 ? smooth * weight[c] : 0);
    }
    write_dense(p.out, out);
}

}  // namespace

extern "C" {

aclnnStatus aclnnCrossEntropyLossGradGetWorkspaceSize(
        const aclTensor *gradLoss, const aclTensor *logProb, const aclTensor *target, const aclTensor *weightOptional,
        const aclTensor *gradZlossOptional, const aclTensor *lseForZlossOptional, char *reductionOptional,
        int64_t ignoreIndex, STANDIN_CE_REAL labelSmoothing, STANDIN_CE_REAL lseSquareScaleForZloss,
        const aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor) {
    Phase1 p("aclnnCrossEntropyLossGrad", true, workspaceSize, executor);
    return p.run([&] {
        Plan plan{p.input("gradLoss", gradLoss), p.input("logProb", logProb), p.input("target", target),
                  p.optional("weightOptional", weightOptional),
                  p.optional("gradZlossOptional", gradZlossOptional),
                  p.optional("lseForZlossOptional", lseForZlossOptional), p.output("out", out), reductionOptional,
                  text_at(reductionOptional), ignoreIndex, float(labelSmoothing), float(lseSquareScaleForZloss)};
        p.pointers();
        p.require_product({A2, A3, P950});
        p.require_formats({plan.grad, plan.log_prob, plan.target, plan.out});
        aclDataType type = plan.log_prob.type;
        bool is950 = product() == P950;
        p.require((type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16) && plan.grad.type == type &&
                      plan.out.type == type &&
                      (plan.target.type == ACL_INT64 || (is950 && plan.target.type == ACL_INT32)),
                  ACLNN_ERR_PARAM_INVALID, "this combination of dtypes is not supported");
        if (!plan.out.size()) return p.nothing();
        int64_t N = plan.log_prob.dim(0), C = plan.log_prob.dim(1);
        auto tiling = [&](bool condition, const char *rule) {
            p.require(condition, ACLNN_ERR_INNER_TILING_ERROR, "%s", rule);
        };
        if (is950) {
            bool none = plan.seen == "none", one = plan.grad.rank() == 0 || plan.grad.dims == std::vector<int64_t>{1};
            tiling(none || plan.seen == "mean" || plan.seen == "sum", "reductionOptional is none of none, mean, sum");
            tiling(plan.smoothing >= 0 && plan.smoothing <= 1, "labelSmoothing is not in [0, 1]");
            tiling(plan.log_prob.rank() == 2, "logProb needs 2 dimensions");
            tiling(none ? plan.grad.dims == std::vector<int64_t>{N} : one, "gradLoss does not match the reduction");
            tiling(plan.target.rank() == 1, "target needs 1 dimension");
            tiling(!plan.weight || plan.weight->rank() == 1, "weightOptional needs 1 dimension");
            tiling(!plan.weight || plan.weight->type == ACL_FLOAT, "weightOptional is not float32");
        }
        tiling(plan.target.dim(0) == N, "target does not match logProb");
        tiling(!plan.weight || plan.weight->dim(0) == C, "weightOptional does not match logProb");
        std::vector<Tensor> inputs{plan.grad, plan.log_prob, plan.target};
        for (const auto *each : {&plan.weight, &plan.grad_zloss, &plan.lse})
            if (*each) inputs.push_back(**each);
        p.launch(SYSTEM_WORKSPACE + p.copies(inputs), [plan] { kernel(plan); });
    });
}

aclnnStatus aclnnCrossEntropyLossGrad(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                      aclrtStream stream) {
    return phase2("aclnnCrossEntropyLossGrad", workspace, workspaceSize, executor, stream);
}

}  // extern "C"
