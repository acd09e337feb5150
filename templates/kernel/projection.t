$ -- Rows times packed weights.
$ if shape.emit == "layer" then
$   local PANEL = plan.PANEL
$   local written = {}
$   -- Tiles of several rows prefetch a line of the next panel every 8 steps.
$   local function reads_ahead(rows, depth) return has.prefetch and rows > 1 and depth >= 8 end
$   local function project_tile(rows, depth, bias, x_stride)
$     local vectors = own.project_vectors[rows]
$     local lines = reads_ahead(rows, depth)
$     local id_tile = ("project_%dx%d_%s%d"):format(rows, vectors, bias and "bias_" or "", depth)
$     if x_stride ~= depth then id_tile = id_tile .. "_of_" .. x_stride end
$     if written[id_tile] then return id_tile end
$     written[id_tile] = true

/* y[i][c] = ${bias and "bias[c]" or "0"} + sum over d of x[i][d] * w[d][c], in order of d; ${rows} rows, ${vectors * W} columns of a panel */
static ${ID}_TILE void ${id}_${id_tile}(const float *x, const float *w, float *y, size_t y_stride${ahead_parameter(lines)})
{
$     for i = 0, rows - 1 do
$       for j = 0, vectors - 1 do
    ${vec} y${i}_${j} = ${bias and load("w + " .. j * W) or zero()};
$       end
$     end
$     if bias then
    w += ${PANEL};
$     end
$     local unroll = math.min(depth, 8)
    for (int d = 0; d < ${depth // unroll * unroll}; d += ${unroll}, x += ${unroll}, w += ${unroll * PANEL}) {
$     local function step(t)
        {
$       for j = 0, vectors - 1 do
            const ${vec} w${j} = ${load(at("w", t * PANEL + j * W))};
$       end
$       for i = 0, rows - 1 do
            const ${factor} x${i} = ${spread(("x[%d]"):format(i * x_stride + t))};
$         for j = 0, vectors - 1 do
            y${i}_${j} = ${fma_spread("x" .. i, "w" .. j, ("y%d_%d"):format(i, j))};
$         end
$       end
        }
$     end
$     if lines then
        ${prefetch("next")};
        next += 64;
$     end
$     for t = 0, unroll - 1 do step(t) end
    }
$     for t = 0, depth % unroll - 1 do step(t) end
$     for j = 0, vectors - 1 do
    ${store(at("y", j * W), "y0_" .. j)};
$     end
$     for i = 1, rows - 1 do
    y += y_stride;
$       for j = 0, vectors - 1 do
    ${store(at("y", j * W), ("y%d_%d"):format(i, j))};
$       end
$     end
    (void)y_stride;
}
$     return id_tile
$   end
$   -- Rows of x and y lie x_stride and y_stride floats apart; without y_stride one after the other.
$   local function project(which, depth, bias, x_stride, y_stride)
$     local columns = y_stride and tostring(y_stride) or "columns"
$     local calls = {}
$     for _, rows in ipairs(own.project_counts) do
$       calls[#calls + 1] = { rows = rows, tile = project_tile(rows, depth, bias, x_stride), step = own.project_vectors[rows] * W }
$     end

static ${ID}_CODE void ${id}_${which}(const float *x, size_t n, const float *w, size_t columns, size_t first,
                         size_t count, float *y)
{
    float edge[${own.project_counts[1] * PANEL}]; /* of the last panel, where it has fewer columns */
    for (size_t panel = first; panel < first + count; panel++) {
        const float *const panel_w = w + panel * ${PANEL * (depth + (bias and 1 or 0))};
        const size_t width = columns - panel * ${PANEL} < ${PANEL} ? columns - panel * ${PANEL} : ${PANEL};
        size_t rows;
$     if reads_ahead(own.project_counts[1], depth) then
        uintptr_t next = (uintptr_t)panel_w + ${PANEL * (depth + (bias and 1 or 0)) * 4}; /* the next panel */
        const uintptr_t end = next + ${PANEL * (depth + (bias and 1 or 0)) * 4};
$     end
        for (size_t i = 0; i < n; i += rows) {
            float *const target = y + i * ${columns} + panel * ${PANEL};
            float *const tile = width < ${PANEL} ? edge : target;
            const size_t stride = width < ${PANEL} ? ${PANEL} : ${columns};
$     for index, call in ipairs(calls) do
$       if index < #calls then
            if (n - i >= ${call.rows}) {
$       else
            {
$       end
                rows = ${call.rows};
$       for column = 0, PANEL - 1, call.step do
                ${id}_${call.tile}(x + i * ${x_stride}, ${at("panel_w", column)}, ${at("tile", column)}, stride${reads_ahead(call.rows, depth) and ", next" or ""});
$         if reads_ahead(call.rows, depth) then
            next += next < end ? ${depth // 8 * 64} : 0;
$         end
$       end
$       if index < #calls then
            } else
$       else
            }
$       end
$     end
            if (width < ${PANEL})
                for (size_t r = 0; r < rows; r++)
                    memcpy(target + r * ${columns}, edge + r * ${PANEL}, width * sizeof(float));
        }
    }
}
$   end
$   if shape.mla then
$     for _, product in ipairs(mla_products) do
$       if product.kernel == product.name then
$         project("project_" .. product.name, product.depth, product.bias, product.x_stride, product.y_stride)
$       end
$     end
$   else
$     project("project_in", shape.d_model, shape.qkv_bias, shape.d_model)
$     if shape.cross then
$       project("project_source", layout.source_width, shape.qkv_bias, layout.source_width)
$     end
$     project("project_out", layout.o_width, shape.o_bias, layout.o_width)
$   end
$ end
