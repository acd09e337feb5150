$ -- Rows times packed weights.
$ if shape.emit ~= "attention" then
$   local PANEL = plan.PANEL
$   local written = {}
$   -- Tiles of several rows prefetch a line of the next panel every 8 steps.
$   local function reads_ahead(rows, depth) return has.prefetch and rows > 1 and depth >= 8 end
$   -- A tile takes `depth` inputs of rows x_stride floats apart; it starts from the bias, from zero, or
$   -- from the sums of the inputs before ("sum"), which lie in y.
$   local function project_tile(rows, depth, start, x_stride)
$     local vectors = own.project_vectors[rows]
$     local lines = reads_ahead(rows, depth)
$     local named = start == "zero" and "" or start .. "_"
$     local id_tile = ("project_%dx%d_%s%d%s"):format(rows, vectors, named, depth, x_stride ~= depth and "_of_" .. x_stride or "")
$     if written[id_tile] then return id_tile end
$     written[id_tile] = true
$     local from = { bias = "bias[c]", zero = "0", sum = "y[i][c]" }

/* y[i][c] = ${from[start]} + sum over d of x[i][d] * w[d][c], in order of d; ${rows} rows, ${vectors * W} columns of a panel */
static ${ID}_TILE void ${id}_${id_tile}(const float *x, const float *w, float *y, size_t y_stride${ahead_parameter(lines)})
{
$     for i = 0, rows - 1 do
$       for j = 0, vectors - 1 do
$         local row = i == 0 and "y" or i == 1 and "y + y_stride" or ("y + %d * y_stride"):format(i)
    ${vec} y${i}_${j} = ${start == "bias" and load("w + " .. j * W) or start == "sum" and load(at(row, j * W)) or zero()};
$       end
$     end
$     if start == "bias" then
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
$   -- The inputs cut so that a panel's weights for a part stay in the second-level cache while all rows
$   -- take them: sums wait in y, so the bits do not change.
$   local function parts_of(depth, bias)
$     local parts, count = {}, (depth + plan.PROJECT_DEPTH - 1) // plan.PROJECT_DEPTH
$     local each = plan.ceil_to((depth + count - 1) // count, 8)
$     for first = 0, depth - 1, each do
$       local start = first > 0 and "sum" or bias and "bias" or "zero"
$       parts[#parts + 1] = { first = first, depth = math.min(each, depth - first), start = start, last = first + each >= depth }
$       parts[#parts].weights = PANEL * (first + (first > 0 and bias and 1 or 0)) -- where its weights begin
$     end
$     return parts
$   end
$   -- act: "act", or "gate": then a panel of gate columns comes before each panel, and `room` holds [n][${PANEL}].
$   -- Rows of x and y lie x_stride and y_stride floats apart; without y_stride one after the other.
$   local function project(which, depth, bias, x_stride, y_stride, act)
$     local columns = y_stride and tostring(y_stride) or "columns"
$     local parts, half = parts_of(depth, bias), PANEL * (depth + (bias and 1 or 0)) -- floats of one panel
$     local panel_floats = act == "gate" and 2 * half or half
$     for _, part in ipairs(parts) do
$       part.calls = {}
$       for _, rows in ipairs(own.project_counts) do
$         part.calls[#part.calls + 1] = { rows = rows, tile = project_tile(rows, part.depth, part.start, x_stride), step = own.project_vectors[rows] * W, lines = reads_ahead(rows, part.depth) }
$       end
$     end
$     local lines = reads_ahead(own.project_counts[1], parts[1].depth)
$     -- a part for all rows, into `tile`
$     local function each_tile(part, weights)
$       for index, call in ipairs(part.calls) do
$         if index < #part.calls then
            if (n - i >= ${call.rows}) {
$         else
            {
$         end
                rows = ${call.rows};
$         for column = 0, PANEL - 1, call.step do
                ${id}_${call.tile}(${at(("x + i * %d"):format(x_stride), part.first)}, ${at("panel_w", weights + part.weights + column)}, ${at("tile", column)}, stride${call.lines and ", next" or ""});
$           if call.lines then
            next += next < end ? ${part.depth // 8 * 64} : 0;
$           end
$         end
$         if index < #part.calls then
            } else
$         else
            }
$         end
$       end
$     end

static ${ID}_CODE void ${id}_${which}(const float *x, size_t n, const float *w, size_t columns, size_t first,
                         size_t count, float *y${act == "gate" and ", float *room" or ""})
{
    float edge[${own.project_counts[1] * PANEL}]; /* of the last panel, where it has fewer columns */
    for (size_t panel = first; panel < first + count; panel++) {
        const float *const panel_w = w + panel * ${panel_floats};
        const size_t width = columns - panel * ${PANEL} < ${PANEL} ? columns - panel * ${PANEL} : ${PANEL};
        size_t rows;
$     if lines then
        uintptr_t next = (uintptr_t)panel_w + ${panel_floats * 4}; /* the next panel */
        const uintptr_t end = next + ${panel_floats * 4};
$     end
$     for _, part in ipairs(act == "gate" and parts or {}) do
        for (size_t i = 0; i < n; i += rows) {
            float *const tile = room + i * ${PANEL};
            const size_t stride = ${PANEL};
$       each_tile(part, 0)
        }
$     end
$     for index, part in ipairs(parts) do
        for (size_t i = 0; i < n; i += rows) {
            float *const target = y + i * ${columns} + panel * ${PANEL};
            float *const tile = width < ${PANEL} ? edge : target;
            const size_t stride = width < ${PANEL} ? ${PANEL} : ${columns};
$       if index > 1 then
$         local choices = {}
$         for c, rows in ipairs(own.project_counts) do
$           choices[c] = c < #own.project_counts and ("n - i >= %d ? %d"):format(rows, rows) or tostring(rows)
$         end
            rows = ${table.concat(choices, " : ")};
            if (width < ${PANEL})
                for (size_t r = 0; r < rows; r++)
                    memcpy(edge + r * ${PANEL}, target + r * ${columns}, width * sizeof(float));
$       end
$       each_tile(part, act == "gate" and half or 0)
$       if act and part.last then
            ${id}_activate(rows, tile, stride${act == "gate" and (", room + i * %d"):format(PANEL) or ""});
$       end
            if (width < ${PANEL})
                for (size_t r = 0; r < rows; r++)
                    memcpy(target + r * ${columns}, edge + r * ${PANEL}, width * sizeof(float));
        }
$     end
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
$   if shape.block and shape.block.ffn > 0 then
$     local block = shape.block
$     project("project_up", shape.d_model, block.bias, shape.d_model, nil, block.gated and "gate" or "act")
$     project("project_down", block.ffn, block.bias, block.ffn)
$   end
$ end
$ if shape.clip_qkv then
$   local low, high = float(-shape.clip_qkv), float(shape.clip_qkv)

/* Clamps x to ${low} .. ${high}. NaN stays. */
static ${ID}_CODE void ${id}_clip(float *x, size_t count)
{
    size_t i = 0;
    for (; i + ${W} <= count; i += ${W})
        ${store("x + i", clamp(load("x + i"), low, high))};
$   if W > 1 then
    for (; i < count; i++)
        x[i] = x[i] < ${low} ? ${low} : x[i] > ${high} ? ${high} : x[i];
$   end
}
$ end
