#include "../../platform.h"
