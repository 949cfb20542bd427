// aclnnHardswishBackward: out = gradOutput * d(self), d = 0 below -3, self / 3 + 0.5 on [-3, 3], 1 above.
#include "aclnnop/aclnn_hardswish_backward.h"

#include "sim.h"

using namespace standin;

#ifdef STANDIN_OPEN_INTERVAL  // the contributed package under experimental/ has d(-3) = 0 and d(3) = 1
static double derivative(double x) { return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5; }
#else
static double derivative(double x) { return x < -3 ? 0 : x <= 3 ? x / 3 + 0.5 : 1; }
#endif

extern "C" {

aclnnStatus aclnnHardswishBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self, aclTensor *out,
                                                   uint64_t *workspaceSize, aclOpExecutor **executor) {
    Phase1 p("aclnnHardswishBackward", false, workspaceSize, executor);
    return p.run([&] {
        p.pointers();
        Tensor grad = p.input("gradOutput", gradOutput), x = p.input("self", self), result = p.output("out", out);
        Product soc = product();
        auto listed = [&](aclDataType type) {
            bool modern = soc == A2 || soc == A3 || soc == P950;
            return type == ACL_FLOAT || type == ACL_FLOAT16 || (type == ACL_BF16 && modern);
        };
        p.require(listed(x.type), ACLNN_ERR_PARAM_INVALID, "self has dtype %d", x.type);
        p.require(listed(grad.type), ACLNN_ERR_PARAM_INVALID, "gradOutput has dtype %d", grad.type);
        p.require(grad.type == x.type, ACLNN_ERR_PARAM_INVALID, "gradOutput has dtype %d, self %d", grad.type, x.type);
        p.require(result.type == x.type, ACLNN_ERR_PARAM_INVALID, "out has dtype %d, self %d", result.type, x.type);
        p.require(grad.rank() <= 8 && x.rank() <= 8, ACLNN_ERR_PARAM_INVALID, "more than 8 dimensions");
        for (const Tensor *other : {&grad, &result})
            p.require(other->dims == x.dims, ACLNN_ERR_PARAM_INVALID, "self has shape %s, the other tensor %s",
                      text(x.dims).c_str(), text(other->dims).c_str());
        if (!x.size()) return p.nothing();
        p.require(soc != P310P && soc != UNKNOWN, ACLNN_ERR_INNER_NULLPTR, "no kernel for this product");
        p.launch(p.copies({grad, x, result}), [=] {
            std::vector<double> g = read(grad), v = read(x);
            for (size_t i = 0; i < g.size(); i++) g[i] *= derivative(v[i]);
            write(result, g);
        });
    });
}

aclnnStatus aclnnHardswishBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
                                   const aclrtStream stream) {
    return phase2("aclnnHardswishBackward", workspace, workspaceSize, executor, stream);
}

}  // extern "C"
