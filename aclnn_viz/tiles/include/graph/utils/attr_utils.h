#include "../../host.h"
