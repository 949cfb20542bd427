#pragma once
#define REPORT_INNER_ERR_MSG(...) ((void)0)
