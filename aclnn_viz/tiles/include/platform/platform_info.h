#include "../host.h"
