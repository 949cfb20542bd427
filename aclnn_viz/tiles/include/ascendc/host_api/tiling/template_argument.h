#error "ASCENDC_TPL: template keys are not offered; give the struct yourself: av.tiles.cpp(FILE)[ENTRY].program(op, tiling)"
