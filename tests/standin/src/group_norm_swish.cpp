// aclnnGroupNormSwishGrad: with xhat = (x - mean) * rstd, y = xhat * gamma + beta, e = exp(-s * y) + 1 and
// d = ((y - y / e) * s + 1) / e * dy: dgamma = sum(d * xhat), dbeta = sum(d), and per group of n elements
// dx = rstd * (d * gamma - (sum(d * gamma) + xhat * sum(d * gamma * xhat)) / n).
#include "aclnnop/aclnn_group_norm_swish_grad.h"

#include <cmath>

#include "sim.h"

using namespace standin;

namespace {

struct Plan {
    Tensor dy, mean, rstd, x, gamma, beta, dx, dgamma, dbeta;
    int64_t groups;
    float scale;
    bool want_dgamma, want_dbeta;
};

void store(const Tensor &tensor, bool wanted, const std::vector<double> &values) {
    if (wanted) return write_dense(tensor, values);
    if (tensor.type == ACL_FLOAT) write_dense(tensor, std::vector<double>(values.size()));  // 16-bit: left as it is
}

void kernel(const Plan &p) {
    int64_t N = p.x.dim(0), C = p.x.dim(1), area = product_of(p.x.dims, 2), D = C / p.groups, n = D * area;
    std::vector<double> dy = read(p.dy), mean = read(p.mean), rstd = read(p.rstd), x = read(p.x);
    std::vector<double> gamma = read(p.gamma), beta = read(p.beta), dx(x.size()), dgamma(C), dbeta(C), d(n), xhat(n);
    double s = p.scale, inner = cann() >= version(9, 1, 0) ? s : 1;  // kernels before 9.1.0 lack one factor s
    for (int64_t group = 0; group < N * p.groups; group++) {
        int64_t start = group * n, channel = group % p.groups * D;
        double sum = 0, sum_xhat = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t c = channel + i / area;
            xhat[i] = (x[start + i] - mean[group]) * rstd[group];
            double y = xhat[i] * gamma[c] + beta[c], e = std::exp(-s * y) + 1;
            d[i] = ((y - y / e) * inner + 1) / e * dy[start + i];
            dgamma[c] += d[i] * xhat[i];
            dbeta[c] += d[i];
            sum += d[i] * gamma[c] / n;
            sum_xhat += d[i] * gamma[c] * xhat[i] / n;
        }
        for (int64_t i = 0; i < n; i++)
            dx[start + i] = rstd[group] * (d[i] * gamma[channel + i / area] - sum - xhat[i] * sum_xhat);
    }
    write_dense(p.dx, dx);
    store(p.dgamma, p.want_dgamma, dgamma);
    store(p.dbeta, p.want_dbeta, dbeta);
}

// The tiling evaluates these rules and then drops the verdict.
static const char *broken_rule(const Plan &p) {
    int64_t N = p.dy.dim(0), C = p.dy.dim(1), lanes = p.dy.type == ACL_FLOAT ? 8 : 16;
    if (p.dy.rank() < 2) return "dy has fewer than 2 dimensions";
    if (p.dy.dims != p.x.dims) return "dy and x differ in shape";
    if (p.mean.rank() != 2 || p.mean.dims != p.rstd.dims) return "mean and rstd need one shape of 2 dimensions";
    if (p.mean.dims[1] != p.groups || p.mean.dims[0] != N) return "mean is not (N, numGroups)";
    if (p.gamma.dims != std::vector<int64_t>{C}) return "gamma is not (C,)";
    if (p.beta.dims != std::vector<int64_t>{C}) return "beta is not (C,)";
    if (N * p.groups == 0) return "N or numGroups is 0";
    if (C / p.groups == 0 || C % p.groups) return "numGroups does not divide C";
    if (product_of(p.dy.dims, 2) == 0) return "HxW is 0";
    if ((C / p.groups + lanes - 1) / lanes * lanes > 4000) return "C / numGroups exceeds 4000";
    return nullptr;
}

}  // namespace

extern "C" {

aclnnStatus aclnnGroupNormSwishGradGetWorkspaceSize(
        const aclTensor *dy, const aclTensor *mean, const aclTensor *rstd, const aclTensor *x, const aclTensor *gamma,
        const aclTensor *beta, int64_t numGroups, char *, double swishScale, bool dgammaIsRequire, bool dbetaIsRequire,
        const aclTensor *dxOut, const aclTensor *dgammaOut, const aclTensor *dbetaOut, uint64_t *workspaceSize,
        aclOpExecutor **executor) {
    Phase1 p("aclnnGroupNormSwishGrad", true, workspaceSize, executor);
    return p.run([&] {
        Plan plan{p.input("dy", dy), p.input("mean", mean), p.input("rstd", rstd), p.input("x", x),
                  p.input("gamma", gamma), p.input("beta", beta), p.output("dxOut", dxOut),
                  p.output("dgammaOut", dgammaOut), p.output("dbetaOut", dbetaOut), int32_t(numGroups),
                  float(swishScale), dgammaIsRequire, dbetaIsRequire};
        p.pointers();
        p.require_product({A2, A3, P950});
        std::vector<Tensor> inputs{plan.dy, plan.mean, plan.rstd, plan.x, plan.gamma, plan.beta};
        p.require_formats(inputs);
        p.require_formats({plan.dx, plan.dgamma, plan.dbeta});
        aclDataType type = plan.dy.type;
        bool listed = type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16;
        for (const Tensor *each : {&plan.mean, &plan.rstd, &plan.x, &plan.gamma, &plan.beta, &plan.dx, &plan.dgamma,
                                   &plan.dbeta})
            listed = listed && each->type == type;
        p.require(listed, ACLNN_ERR_PARAM_INVALID, "this combination of dtypes is not supported");
        if (!plan.dx.size() && !plan.dgamma.size() && !plan.dbeta.size()) return p.nothing();
        if (const char *rule = broken_rule(plan)) {
            misuse("aclnnGroupNormSwishGrad: %s, but phase 1 succeeds", rule);
            fail(0, "aclnnGroupNormSwishGradGetWorkspaceSize: %s", rule);
            return p.launch(0, [] {}, ACLNN_ERR_RUNTIME_ERROR);  // the launch refuses a grid of no blocks
        }
        uint64_t sums = type == ACL_FLOAT ? 0 : p.temporaries({as(ACL_FLOAT, plan.gamma), as(ACL_FLOAT, plan.beta)});
        p.launch(SYSTEM_WORKSPACE + sums + p.copies(inputs), [plan] { kernel(plan); });
    });
}

aclnnStatus aclnnGroupNormSwishGrad(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                    aclrtStream stream) {
    return phase2("aclnnGroupNormSwishGrad", workspace, workspaceSize, executor, stream);
}

}  // extern "C"
