$ -- The table of what this instruction set provides, and the end of its file.

const ${name}_kernels ${id}_kernels = {
    "${isa.id}",
    ${own.query_rows},
    ${id}_pack,
    ${id}_attend,
$ if shape.lse then
    ${id}_merge,
$ end
$ if shape.mla then
    ${expanded_query_rows},
    ${id}_expanded_pack,
    ${id}_expanded_attend,
$   for _, product in ipairs(mla_products) do
    ${id}_project_${product.kernel},
$   end
$   if shape.mla.q_rank then
    ${id}_norm_q,
$   end
    ${id}_norm_kv,
$ elseif shape.emit ~= "attention" then
    ${id}_project_in,
    ${id}_project_out,
$   if shape.cross then
    ${id}_project_source,
$   end
$ end
$ if shape.clip_qkv then
    ${id}_clip,
$ end
$ if shape.qk_norm then
    ${id}_norm_q,
    ${id}_norm_k,
$ end
$ if shape.rope then
    ${id}_rotate,
$ end
$ if shape.block then
$   if shape.block.ffn > 0 then
    ${id}_project_up,
    ${id}_project_down,
$   end
    ${id}_norm,
    ${id}_add,
$ end
};
#if defined(__clang__)
#if defined(${ID}_PRECISE)
#pragma float_control(pop)
#endif
$ if isa.quiet then
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
$ end
#endif
#endif
