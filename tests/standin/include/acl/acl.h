// The umbrella header that programs include.
#ifndef STANDIN_ACL_H
#define STANDIN_ACL_H
#include "acl_base.h"
#include "acl_rt.h"
#endif
