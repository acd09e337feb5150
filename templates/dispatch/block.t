$ -- The block's packed weights and its call.
$ local block = shape.block
$ if block then
$   local w = memory.block_offsets

/* ---- block ---- */

int ${name}_pack_block_weights(const ${name}_block_weights *source, void *weights)
{
    float *const packed = (float *)weights + (weights != NULL ? ${NAME}_ALIGN / sizeof(float) : 0);
    int status;
    if (source == NULL || weights == NULL)
        return ${NAME}_ERROR_NULL;
$   for _, each in ipairs(layout.norms) do
    if (source->${each} == NULL${block.norm_bias and (" || source->%s_bias == NULL"):format(each) or ""})
        return ${NAME}_ERROR_NULL;
$   end
$   for _, each in ipairs(layout.scales) do
    if (source->${each} == NULL)
        return ${NAME}_ERROR_NULL;
$   end
$   if block.ffn > 0 then
    if (source->w_up == NULL || source->w_down == NULL)
        return ${NAME}_ERROR_NULL;
$   end
$   if block.bias then
    if (source->b_up == NULL || source->b_down == NULL)
        return ${NAME}_ERROR_NULL;
$   end
$   if block.gated then
    if (source->w_gate == NULL${block.bias and " || source->b_gate == NULL" or ""})
        return ${NAME}_ERROR_NULL;
$   end
    status = ${name}_pack_weights(&source->attention, weights);
    if (status != ${NAME}_OK)
        return status;
$   for _, each in ipairs(layout.norms) do
    ${name}_pack_norm(source->${each}, ${block.unit_offset and "1.0f" or "-0.0f"}, 1, ${NAME}_D_MODEL, packed + ${w[each]});
$     if block.norm_bias then
    ${name}_pack_norm(source->${each}_bias, -0.0f, 1, ${NAME}_D_MODEL, packed + ${w[each] + layout.norm.bias});
$     end
$   end
$   for _, each in ipairs(layout.scales) do
    ${name}_pack_norm(source->${each}, -0.0f, 1, ${NAME}_D_MODEL, packed + ${w[each]});
$   end
$   local b = block.bias and 1 or 0
$   local panel = plan.PANEL * (shape.d_model + b)
$   local function bias(which) return block.bias and "source->b_" .. which or "NULL" end
$   if block.gated then
    /* a panel of the gate, then the same columns of up, in turn */
    ${name}_pack_matrix(source->w_gate, ${bias("gate")}, ${b}, ${NAME}_FFN, ${NAME}_D_MODEL, packed + ${w.up}, ${panel});
    ${name}_pack_matrix(source->w_up, ${bias("up")}, ${b}, ${NAME}_FFN, ${NAME}_D_MODEL, packed + ${w.up + panel}, ${panel});
$   elseif block.ffn > 0 then
    ${name}_pack_matrix(source->w_up, ${bias("up")}, ${b}, ${NAME}_FFN, ${NAME}_D_MODEL, packed + ${w.up});
$   end
$   if block.ffn > 0 then
    ${name}_pack_matrix(source->w_down, ${bias("down")}, ${b}, ${NAME}_D_MODEL, ${NAME}_FFN, packed + ${w.down}${block.gated and ", 0" or ""});
$   end
    memset(packed + ${memory.weight_offsets.floats}, 0, ${NAME}_ALIGN);
    memcpy(packed + ${memory.weight_offsets.floats}, &${name}_block_mark, sizeof ${name}_block_mark);
    return ${NAME}_OK;
}

$   local pos_argument = shape.cross and "" or "pos, "
int ${name}_layer(const void *weights, ${cache_parameter}, ${pos_parameter}size_t n, const float *x, ${layer_parameters}float *y,
    void *scratch, const ${name}_pool *pool)
{
    return ${name}_run_layer(0, weights, cache, ${pos_argument}n, x, ${arguments.names(layer_extras)}y, scratch, pool);
}

int ${name}_block(const void *weights, ${cache_parameter}, ${pos_parameter}size_t n, const float *x, ${layer_parameters}float *y,
    void *scratch, const ${name}_pool *pool)
{
    return ${name}_run_layer(1, weights, cache, ${pos_argument}n, x, ${arguments.names(layer_extras)}y, scratch, pool);
}
$ end
