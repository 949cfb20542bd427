// aclnnRmsNormGrad: with xr = x * rstd and dyg = dy * gamma, dx = (dyg - xr * mean(dyg * xr)) * rstd, and
// dgamma = the sum of dy * xr over the rows.
#include "aclnnop/aclnn_rms_norm_grad.h"

#include <cmath>

#include "sim.h"

using namespace standin;

namespace {

bool supported(const std::vector<aclDataType> &types) {
    static const std::vector<std::vector<aclDataType>> modern = {
        {ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT},
        {ACL_BF16, ACL_BF16, ACL_FLOAT, ACL_FLOAT, ACL_BF16, ACL_FLOAT},
        {ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT},
        {ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT, ACL_FLOAT},
        {ACL_BF16, ACL_BF16, ACL_FLOAT, ACL_BF16, ACL_BF16, ACL_FLOAT}};
    bool old = product() == P310P || product() == P910;
    for (size_t i = 0; i < modern.size(); i++)
        if (types == modern[i]) return !old || i == 2 || i == 3;
    return false;
}

void kernel(const Tensor &dy, const Tensor &x, const Tensor &rstd, const Tensor &gamma, const Tensor &dx,
                   const Tensor &dgamma) {
    size_t columns = gamma.size(), rows = columns ? x.size() / columns : 0;
    std::vector<double> dg(columns, rows ? 0.0 : NAN), out(rows * columns);
    std::vector<double> a = read(dy), b = read(x), r = read(rstd), g = read(gamma);
    for (size_t row = 0; row < rows; row++) {
        const double *dyr = &a[row * columns], *xr = &b[row * columns];
        double mean = 0;
        for (size_t i = 0; i < columns; i++) {
            mean += dyr[i] * g[i] * xr[i] * r[row] / columns;
            dg[i] += dyr[i] * xr[i] * r[row];
        }
        for (size_t i = 0; i < columns; i++)
            out[row * columns + i] = (dyr[i] * g[i] - xr[i] * r[row] * mean) * r[row];
    }
    write_dense(dx, out);
    write_dense(dgamma, dg);
}

}  // namespace

extern "C" {

aclnnStatus aclnnRmsNormGradGetWorkspaceSize(const aclTensor *dy, const aclTensor *x, const aclTensor *rstd,
                                             const aclTensor *gamma, const aclTensor *dxOut,
                                             const aclTensor *dgammaOut, uint64_t *workspaceSize,
                                             aclOpExecutor **executor) {
    Phase1 p("aclnnRmsNormGrad", true, workspaceSize, executor);
    return p.run([&] {
        Tensor a = p.input("dy", dy), b = p.input("x", x), r = p.input("rstd", rstd), g = p.input("gamma", gamma);
        Tensor dx = p.output("dxOut", dxOut), dg = p.output("dgammaOut", dgammaOut);
        p.pointers();
        p.require_product({A2, A3, P950, P310P, P910});
        p.require_formats({a, b, r, g, dx, dg});
        p.require(supported({a.type, b.type, r.type, g.type, dx.type, dg.type}), ACLNN_ERR_PARAM_INVALID,
                  "this combination of dtypes is not supported");
        if (!dx.size() && !dg.size()) return p.nothing();
        auto tiling = [&](bool condition, const char *rule) {
            p.require(condition, ACLNN_ERR_INNER_TILING_ERROR, "%s", rule);
        };
        tiling(b.rank() >= 1 && b.rank() <= 8, "x needs 1 to 8 dimensions");
        tiling(g.rank() >= 1 && g.rank() <= b.rank(), "gamma needs 1 to as many dimensions as x");
        tiling(a.dims == b.dims && dx.dims == a.dims, "dy, x and dxOut need one shape");
        tiling(a.dims.back() != 0, "the last dimension is 0");
        size_t k = b.rank() - g.rank();
        for (size_t axis = 0; axis < k; axis++)
            tiling(axis < r.rank() ? r.dims[axis] == b.dims[axis] : b.dims[axis] == 1, "rstd does not match x");
        tiling(std::equal(g.dims.begin(), g.dims.end(), a.dims.begin() + k), "gamma does not match dy");
        tiling(dg.dims == g.dims, "dgammaOut does not match gamma");
        int64_t rows = product_of(b.dims) / g.size();
        tiling(r.size() == rows, "rstd does not have one element a row");
        tiling(product() != P910 || g.size() % 64 == 0, "gamma needs a multiple of 64 elements here");
        tiling(rows != 0 || product() == P950, "no rows");
        p.launch(SYSTEM_WORKSPACE + p.copies({a, b, r, g}), [=] { kernel(a, b, r, g, dx, dg); });
    });
}

aclnnStatus aclnnRmsNormGrad(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream) {
    return phase2("aclnnRmsNormGrad", workspace, workspaceSize, executor, stream);
}

}  // extern "C"
