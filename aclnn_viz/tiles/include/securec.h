#include "ascendc/securec.h"
