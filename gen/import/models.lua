--- The model types that attnc import knows.
--
-- models.types[model_type]  a table of facts (facts.lua). What an attention must have: d_model,
--   heads, kv_heads, head_dim, v_head_dim, layers, causal, position (text), scale, scale_text,
--   qkv_bias and o_bias (true, false, or which), norm, ffn_act (texts), ffn_width. Of its block:
--   norm_type, norm_eps, norm_bias, place, gated, act, ffn_bias, or no_block: why no spec says it;
--   it may have parallel_norms, unit_offset, norm_weight (false: none), residual_multiplier,
--   attention_norm (false: none), layer_scale (in words, which weights its factors are), layer_part
--   (in words, which part of a layer it is; without_ffn: that of attention alone).
--   embedding_multiplier: what the first block's x is the embeddings times.
--   What it may have: rope, alibi, relative_bias, window, window_right, softcap, sinks, qk_norm,
--   clip_qkv, mla, mask, crosses (cross attention: its source has source_width channels and
--   source_tokens positions, by source_from in words, or up to source_seq; source_advice: what to
--   do where the config has neither), max_seq (up to so many positions), table_seq (no more than
--   these have a learned position), tokens (exactly so many, by tokens_from); variants (layers that
--   differ: {layers, label, suffix, facts}, with row_label in its row if that is another,
--   row = false if its row is that of another one); one_row (the window in words where all
--   variants share a row); note.
--   components: attentions of several kinds, each with facts of its own in front of the type's.
--   parts: nested configs of types of their own. defaults: those of the configuration class.
-- models.refused[model_type] why it cannot be read
-- models.by_keys, .by_name   types whose files may carry no model_type
-- models.shown               fields of a spec that the report puts into words
--
-- The defaults are those of the configuration classes of Hugging Face's transformers; where its
-- versions disagree, the key is required. What no config says (biases, norms, orders) is the model
-- code's.
local facts = require "import/facts"

local NONE = facts.null
local size, must, length, number = facts.size, facts.must, facts.length, facts.number
local flag = facts.flag
local word, list, activation = facts.word, facts.list, facts.activation

local models = { types = {}, refused = {} }
local types = models.types

-- A table of facts with others in front; tables of defaults are joined.
local function like(base, changes)
    local result, defaults = {}, {}
    for _, each in ipairs { base, changes } do
        for name, value in pairs(each) do
            result[name] = value
        end
        for name, value in pairs(each.defaults or {}) do
            defaults[name] = value
        end
    end
    result.defaults = defaults
    return result
end

local function fact(name)
    return function(f) return f[name] end
end

-- ---- what most attentions share ----

local gated_names = { silu = "swiglu(silu)", gelu = "geglu(gelu)", gelu_tanh = "geglu(gelu_tanh)",
    relu = "reglu(relu)" }

local function act_text(f)
    if not f.gated then
        return f.act
    end
    return gated_names[f.act] or ("gated(%s)"):format(f.act)
end

-- The norms in words, from what a block has.
local places = { pre = "pre", post = "post", res_post = "post", sandwich = "pre+post",
    parallel = "pre" }

local function norm_text(f)
    local special = f.norm_weight == false and "(no weight)" or f.unit_offset and "(1+w)"
        or f.norm_type == "layernorm" and not f.norm_bias and "(no bias)" or ""
    return ("%s-%s%s"):format(f.norm_type, places[f.place], special)
end

local attention = {
    norm = norm_text,
    norm_type = "layernorm",
    norm_bias = function(f) return f.norm_type == "layernorm" end,
    place = "pre",
    gated = false,
    ffn_bias = false,
    v_head_dim = fact "head_dim",
    kv_heads = fact "heads",
    head_dim = facts.share,
    scale = function(f) return 1 / math.sqrt(f.head_dim) end,
    scale_text = function(f) return ("1/sqrt(%d)=%.9g"):format(f.head_dim, f.scale) end,
    ffn_act = act_text,
    longest = fact "max_seq",
    embedding_multiplier = 1.0,
    layer_type = nil,
}

-- The score factor 1/sqrt(number) by a key of the config.
local function scale_by_scalar(names, default)
    local key = number(names, default)
    return {
        scale = function(f) return 1 / math.sqrt((f:read(key))) end,
        scale_text = function(f)
            return ("1/sqrt(%s)=%.9g"):format(facts.plain((f:read(key))), f.scale)
        end,
    }
end

-- The score factor itself by a key.
local function scale_by_factor(names, default)
    local key = number(names, default)
    return {
        scale = function(f) return (f:read(key)) end,
        scale_text = function(f)
            return ("%s=%s"):format(names, facts.plain(f.scale))
        end,
    }
end

local unscaled = { scale = 1.0, scale_text = "1.0" }

local function times(names, n, base)
    return size(names, NONE, function(f) return n * f[base or "d_model"] end)
end

-- ---- layers that differ ----

local ends = { "st", "nd", "rd" }

local function ordinal(n)
    return n .. (n // 10 % 10 ~= 1 and ends[n % 10] or "th")
end

-- Which layers (from 0) are of each kind, by the config's layer_types or else by usual(i, f).
local function layer_kinds(f, usual)
    local given = f:read(list("layer_types", NONE, NONE))
    local kinds = {}
    if given and #given ~= f.layers then
        f:refuse("layer_types", ("%d of them for %s = %d layers"):format(#given,
            f:key_of("layers"):match("%S+"), f.layers))
    end
    for i = 0, f.layers - 1 do
        local kind = given and given[i + 1] or usual(i, f)
        if kind == true or kind == false then
            kind = kind and "sliding_attention" or "full_attention"
        elseif kind ~= "sliding_attention" and kind ~= "full_attention" then
            f:refuse("layer_types", ("it has %s; it takes full_attention and sliding_attention")
                :format(type(kind) == "string" and '"' .. kind .. '"' or tostring(kind)))
        end
        kinds[i] = kind
    end
    return kinds
end

-- N if exactly every Nth layer satisfies test(i), else nil.
local function every(f, test)
    local n
    for i = 0, f.layers - 1 do
        if test(i) then
            n = n or i + 1
        end
        if n and test(i) ~= ((i + 1) % n == 0) then
            return nil
        end
    end
    return n
end

-- The rule of variants: full and sliding layers. names: their labels and suffixes, in order.
local function split(usual, name_layers)
    return function(f)
        local kinds, found = layer_kinds(f, usual), {}
        for i = 0, f.layers - 1 do
            found[kinds[i]] = found[kinds[i]] or {}
            table.insert(found[kinds[i]], i)
        end
        local variants = name_layers(f, kinds, found)
        for _, variant in ipairs(variants) do
            variant.layers = variant.layers or found[variant.kind] or {}
            variant.facts = { sliding = variant.kind == "sliding_attention",
                layer_type = variant.kind, attention_norm = variant.attention_norm }
        end
        return variants
    end
end

local function local_and_global(f, kinds, found)
    local n = every(f, function(i) return kinds[i] == "full_attention" end)
    local function listed(kind)
        return facts.layer_list(found[kind] or {})
    end
    return {
        { kind = "sliding_attention", suffix = "local", label = ("local layers (%s)"):format(
            n and ("%d of %d"):format(n - 1, n) or listed("sliding_attention")) },
        { kind = "full_attention", suffix = "global", label = ("global layers (%s)"):format(
            n and "every " .. ordinal(n) or listed("full_attention")) },
    }
end

local function sliding_and_full(f, kinds, found)
    local even = every(f, function(i) return kinds[i] == "full_attention" end) == 2
    local _ = f
    return {
        { kind = "sliding_attention", suffix = "local", label = ("sliding layers (%s)"):format(
            even and "even" or facts.layer_list(found.sliding_attention or {})) },
        { kind = "full_attention", suffix = "global", label = ("full layers (%s)"):format(
            even and "odd" or facts.layer_list(found.full_attention or {})) },
    }
end

-- The window of sliding layers by a key; the others have none.
local function window_of_layers(default)
    local key = length("sliding_window", default, NONE)
    return function(f)
        local window = f:read(key)
        if f.sliding and not window then
            f:refuse("sliding_window", "there are sliding layers; it takes their window")
        end
        return f.sliding and window
    end
end

-- ---- norms of q and k ----

local function qk_norm(kind, width, eps_names, eps, more)
    local key = facts.eps(eps_names, eps)
    return function(f)
        local norm = { type = kind, width = width, order = "before_rope", eps = (f:read(key)) }
        for name, value in pairs(more or {}) do
            norm[name] = value
        end
        return norm
    end
end

local function if_flag(key, rule)
    return function(f)
        return f:read(key) and rule(f) or nil
    end
end

-- ---- decoders in LLaMA's key names ----

local modern = like(attention, {
    label = "decoder",
    d_model = must "hidden_size",
    heads = facts.heads "num_attention_heads",
    layers = must "num_hidden_layers",
    ffn_width = must "intermediate_size",
    kv_heads = facts.kv_heads("num_key_value_heads", NONE, fact "heads"),
    head_dim = facts.head_dim("head_dim", NONE, facts.share),
    max_seq = length "max_position_embeddings",
    act = activation "hidden_act",
    gated = true,
    causal = true,
    position = function(f)
        return f.rope_layout == "interleaved" and "rope-gptj" or "rope-neox"
    end,
    rope_layout = "half",
    theta_key = function() return facts.base("rope_theta", 10000) end,
    rotary_dim = fact "head_dim",
    rope = facts.rope,
    qkv_bias = false,
    o_bias = false,
    norm_type = "rmsnorm",
    norm_eps = facts.eps("rms_norm_eps", 1e-6),
    defaults = { act = "silu" },
})

local any_bias = {
    qkv_bias = flag("attention_bias", false),
    o_bias = flag("attention_bias", false),
}
local any_ffn_bias = { ffn_bias = flag("mlp_bias", false) }
local layernorm = { norm_type = "layernorm", norm_eps = facts.eps("layer_norm_eps", 1e-5) }
local layernorm_of_gpt2 = { norm_eps = facts.eps("layer_norm_epsilon", 1e-5) }
local fixed_eps = { norm_eps = 1e-5 } -- PyTorch's own

local experts = { without_ffn = true,
    layer_part = "attention alone; a norm and a mixture of experts come after it in each layer" }

-- The rule of variants: sparse(f) -> function(i), whether layer i has experts; others are dense.
local function dense_and_experts(sparse, dense_facts, expert_facts)
    return function(f)
        local is_sparse, found = sparse(f), { dense = {}, experts = {} }
        for i = 0, f.layers - 1 do
            table.insert(found[is_sparse(i) and "experts" or "dense"], i)
        end
        local own, variants = { dense = dense_facts or {}, experts = expert_facts or experts }, {}
        for i, name in ipairs { "dense", "experts" } do
            variants[i] = { layers = found[name], suffix = name, facts = own[name],
                label = ("%s layers (%s)"):format(name, facts.layer_list(found[name])) }
        end
        return variants
    end
end

-- Types whose classes take no null for these.
local fixed_head_dim = { head_dim = facts.head_dim "head_dim" }
local fixed_kv_heads = { kv_heads = facts.kv_heads "num_key_value_heads" }

local function sized(d_model, heads, layers, ffn_width, max_seq, more)
    local defaults = { d_model = d_model, heads = heads, layers = layers, ffn_width = ffn_width,
        max_seq = max_seq }
    for name, value in pairs(more or {}) do
        defaults[name] = value
    end
    return { defaults = defaults }
end

local function with(base, ...)
    for _, changes in ipairs { ... } do
        base = like(base, changes)
    end
    return base
end

types.llama = with(modern, any_bias, any_ffn_bias, sized(4096, 32, 32, 11008, 2048))
types.mistral = with(modern, sized(4096, 32, 32, 14336, 131072, { kv_heads = 8 }),
    { window = length("sliding_window", 4096, NONE) })
types.mixtral = with(modern, experts, sized(4096, 32, 32, 14336, 131072, { kv_heads = 8,
    norm_eps = 1e-5 }), {
    theta_key = function() return facts.base "rope_theta" end, -- 1000000 or 10000, by version
    window = length("sliding_window", NONE, NONE),
    note = function(f)
        return ("ffn width is per expert (%d, top %d)"):format(f:read(size("num_local_experts", 8)),
            f:read(size("num_experts_per_tok", 2)))
    end,
})

types.arcee = with(modern, any_bias, any_ffn_bias, sized(2560, 32, 32, 18432, 4096,
    { act = "relu2", norm_eps = 1e-5 }), { gated = false })
types.seed_oss = with(modern, any_ffn_bias, {
    theta_key = function() return facts.base "rope_theta" end,
    head_dim = facts.head_dim("head_dim", 128, facts.share),
    qkv_bias = flag("attention_bias", true),
    o_bias = flag("attention_out_bias", false),
})
types.ernie4_5 = with(modern, sized(1024, 16, 18, 3072, 131072, { kv_heads = 2, head_dim = 128,
    norm_eps = 1e-5, theta = 500000 }), {
    rope_layout = "interleaved",
    qkv_bias = flag("use_bias", false),
    o_bias = flag("use_bias", false),
    ffn_bias = flag("use_bias", false),
})
types.internlm2 = with(modern, sized(4096, 32, 32, 11008, 2048), {
    qkv_bias = flag("bias", true),
    o_bias = flag("bias", true),
    note = function(f)
        return ("fused wqkv per group [%dq,k,v]"):format(f.heads // f.kv_heads)
    end,
})
types.internlm3 = with(modern, {
    theta_key = function() return facts.base "rope_theta" end,
    qkv_bias = flag("qkv_bias", false),
    o_bias = flag("bias", false),
    ffn_bias = flag("bias", false),
})
-- Two models of one type; no key but their size tells which positions they have.
types.baichuan = with(modern, sized(4096, 32, 32, 11008, 4096), {
    kv_heads = fact "heads",
    head_dim = facts.share,
    max_seq = length "max_position_embeddings model_max_length",
    alibi = function(f)
        if f.d_model ~= 4096 and f.d_model ~= 5120 then
            f:refuse("hidden_size", "by it positions are rotary or ALiBi; it takes 4096, of the 7B "
                .. "with rotary ones, or 5120, of the 13B with ALiBi")
        end
        return f.d_model == 5120 or nil
    end,
    rope = function(f) return not f.alibi and facts.rope(f) or nil end,
    position = function(f) return f.alibi and "alibi(2^-8/n slopes)" or "rope-neox" end,
    note = "fused W_pack [q|k|v]",
})
types.exaone = with(modern, {
    layers = must "num_layers num_hidden_layers",
    act = activation("activation_function", "silu"),
    norm_eps = facts.eps("layer_norm_epsilon", 1e-5),
})

local part_of_glm = { rope_layout = "interleaved", o_bias = false,
    rotary_dim = facts.rotary_share(number("partial_rotary_factor", 0.5)) }
types.glm = with(modern, part_of_glm, sized(4096, 32, 40, 13696, 131072, { kv_heads = 2,
    head_dim = 128, norm_eps = 1.5625e-7 }), { qkv_bias = flag("attention_bias", true) })
types.glm4 = with(modern, part_of_glm, sized(4096, 32, 40, 13696, 131072, { kv_heads = 2,
    head_dim = 128, norm_eps = 1.5625e-7 }), {
    qkv_bias = flag "attention_bias",
    place = "sandwich",
})
types.nemotron = with(modern, any_bias, any_ffn_bias, sized(6144, 48, 32, 24576, 4096,
    { act = "relu2" }), {
    rotary_dim = facts.rotary_share(number("partial_rotary_factor rope_percent rope_percentage",
        0.5)),
    gated = false,
    norm_type = "layernorm",
    unit_offset = true,
    norm_eps = facts.eps("norm_eps", 1e-5),
})

-- What attention and feed-forward add to x is the less the more layers there are.
local minicpm = {
    residual_multiplier = function(f)
        return f:read(number("scale_depth", 1)) / math.sqrt(f.layers)
    end,
    embedding_multiplier = number("scale_emb", 1),
}
types.minicpm = with(modern, any_bias, minicpm, sized(4096, 32, 32, 11008, 2048), {
    dense = facts.only(facts.count("num_experts", 0), 0, "experts are not read; it takes 0"),
    whole = function(f)
        local given = f:reader():value("sparse_config")
        if given ~= nil and given ~= NONE then
            f:refuse("sparse_config", "sparse attention is not supported; it takes null")
        end
    end,
})

-- Layers from max_window_layers on slide, if use_sliding_window says that any do.
local qwen_windows = {
    variants = split(function(i, f)
        return f:read(flag("use_sliding_window", false))
            and f:read(length("sliding_window", 4096, NONE)) ~= nil
            and i >= f:read(facts.count("max_window_layers", 28))
    end, function(f, kinds, found)
        local variants = sliding_and_full(f, kinds, found)
        return { variants[2], variants[1] }
    end),
    window = function(f)
        local window = f:read(length("sliding_window", 4096, NONE))
        if f.sliding and not (window and f:read(flag("use_sliding_window", false))) then
            f:refuse("layer_types", "it has sliding layers, but there is no window in use")
        end
        return f.sliding and window
    end,
}

types.qwen2 = with(modern, qwen_windows, sized(4096, 32, 32, 22016, 32768, { kv_heads = 32 }), {
    qkv_bias = true,
    note = function(f)
        local unused = f:read(length("sliding_window", 4096, NONE))
            and not f:read(flag("use_sliding_window", false))
        return (unused and "use_sliding_window false => no window though sliding_window is set; "
            or "") .. "qkv bias is not in the config"
    end,
})
-- Which layers of the mixtures would slide differs among versions.
local no_windows = {
    window = facts.only(flag("use_sliding_window", false), false,
        "sliding layers are not read for this model type; it takes false"),
}
-- Experts in each decoder_sparse_step-th layer, but none in mlp_only_layers.
local function experts_of_qwen(count, dense_width, note)
    return dense_and_experts(function(f)
        local any = f:read(facts.count("num_experts num_local_experts", count)) > 0
        local each = f:read(size("decoder_sparse_step", 1))
        local dense = {}
        for _, i in ipairs(f:read(list("mlp_only_layers", NONE, NONE)) or {}) do
            if math.type(i) ~= "integer" or i < 0 then
                f:refuse("mlp_only_layers", "it takes numbers of layers, from 0")
            end
            dense[i] = true
        end
        return function(i) return any and not dense[i] and (i + 1) % each == 0 end
    end, {
        ffn_width = function(f) return f:read(must("intermediate_size", dense_width)) end,
    }, with(experts, {
        ffn_width = must "moe_intermediate_size",
        note = "ffn width is per expert" .. note,
    }))
end

types.qwen2_moe = with(types.qwen2, no_windows, sized(2048, 16, 24, 1408, 32768,
    { kv_heads = 16 }), {
    variants = experts_of_qwen(60, 5632, ""),
    qkv_bias = flag("qkv_bias", true),
    note = "",
})
local rms_per_head = qk_norm("rmsnorm", "head", "rms_norm_eps", 1e-6)
types.qwen3 = with(modern, qwen_windows, any_bias, fixed_head_dim,
    sized(4096, 32, 32, 22016, 32768, { kv_heads = 32, head_dim = 128 }), {
        qk_norm = rms_per_head,
        note = "qk-norm implied by model_type",
    })
types.qwen3_moe = with(types.qwen3, no_windows, sized(2048, 32, 24, 768, 32768,
    { kv_heads = 4, head_dim = NONE }), {
    variants = experts_of_qwen(128, 6144, "; qk-norm implied by model_type"),
    head_dim = modern.head_dim,
})

-- Embeddings times sqrt(d_model).
local function root_of_width(f) return math.sqrt(f.d_model) end

local one_direction = {
    embedding_multiplier = root_of_width,
    bidirectional = facts.only(flag("use_bidirectional_attention", false, false), false,
        "attention in both directions is not read for this model type; it takes false"),
}
types.gemma = with(modern, any_bias, one_direction, fixed_head_dim, fixed_kv_heads,
    sized(3072, 16, 28, 24576, 8192, { kv_heads = 16, head_dim = 256 }), {
        -- hidden_act is read as tanh's, whatever it says
        act = activation("hidden_activation", "gelu_tanh", "gelu_tanh"),
        unit_offset = true,
        defaults = { act = "gelu_tanh" },
    })

local function alternating(i) return i % 2 == 0 end

types.gemma2 = with(modern, any_bias, one_direction, fixed_head_dim, fixed_kv_heads,
    scale_by_scalar("query_pre_attn_scalar", 256),
    sized(2304, 8, 26, 9216, 8192, { kv_heads = 4, head_dim = 256 }), {
        act = activation "hidden_activation",
        defaults = { act = "gelu_tanh" },
        place = "sandwich",
        unit_offset = true,
        softcap = number("attn_logit_softcapping", 50, NONE),
        variants = split(alternating, local_and_global),
        window = window_of_layers(4096),
        one_row = function(f)
            local kinds, found = layer_kinds(f, alternating), { [true] = {}, [false] = {} }
            for i = 0, f.layers - 1 do
                table.insert(found[kinds[i] == "sliding_attention"], i)
            end
            local window = f:read(length("sliding_window", 4096))
            if every(f, function(i) return kinds[i] == "full_attention" end) == 2 then
                return ("%d on even layers, none on odd"):format(window)
            end
            return ("%d on layers %s, none on %s"):format(window, facts.layer_list(found[true]),
                facts.layer_list(found[false]))
        end,
        note = "alternation is not in the config",
    })

local function sliding_pattern(names, default)
    local key = size(names, default)
    return function(i, f) return (i + 1) % f:read(key) ~= 0 end
end

types.gemma3_text = with(modern, any_bias, fixed_head_dim, fixed_kv_heads,
    scale_by_scalar("query_pre_attn_scalar", 256),
    sized(2304, 8, 26, 9216, 131072, { kv_heads = 4, head_dim = 256 }), {
        act = activation "hidden_activation",
        defaults = { act = "gelu_tanh" },
        place = "sandwich",
        unit_offset = true,
        softcap = number("attn_logit_softcapping", NONE, NONE),
        variants = split(sliding_pattern("sliding_window_pattern _sliding_window_pattern", 6),
            local_and_global),
        embedding_multiplier = root_of_width,
        bidirectional = flag("use_bidirectional_attention", false, false),
        causal = function(f) return not f.bidirectional end,
        -- in both directions sliding_window counts both sides
        window = function(f)
            local window = window_of_layers(4096)(f)
            return window and f.bidirectional and window // 2 + 1 or window
        end,
        window_right = function(f) return f.bidirectional and f.window or nil end,
        window_text = function(f)
            return f.bidirectional and f.window
                and ("bidirectional, %d each side (sliding_window %d is the total)"):format(
                    f.window - 1, f:read(length("sliding_window", 4096))) or nil
        end,
        -- local layers turn by a base of their own, never scaled
        theta_key = function(f)
            return f.sliding and facts.base("rope_local_base_freq", 10000)
                or facts.base("rope_theta", 1e6)
        end,
        theta_marked = false,
        scaled = function(f) return not f.sliding end,
        qk_norm = qk_norm("rmsnorm", "head", "rms_norm_eps", 1e-6, { unit_offset = true }),
    })

types.phi = with(modern, layernorm, sized(2048, 32, 24, 8192, 2048), {
    rotary_dim = facts.rotary_share(number("partial_rotary_factor", 0.5)),
    gated = false,
    defaults = { act = "gelu_tanh" },
    qkv_bias = true,
    o_bias = true,
    place = "parallel",
    ffn_bias = true,
    qk_norm = if_flag(flag("qk_layernorm", false),
        qk_norm("layernorm", "head", "layer_norm_eps", 1e-5, { bias = true })),
    note = "parallel, one LN",
})
types["phi-msft"] = with(types.phi, layernorm_of_gpt2, sized(1024, 16, 20, nil, 2048), {
    d_model = must "n_embd",
    heads = facts.heads "n_head",
    layers = must "n_layer",
    kv_heads = facts.kv_heads("n_head_kv", NONE, fact "heads"),
    head_dim = facts.share,
    max_seq = length "n_positions",
    ffn_width = times("n_inner", 4),
    act = activation("activation_function", "gelu_tanh"),
    rotary_dim = function(f)
        return math.min(f:read(size("rotary_dim", 32)), f.head_dim)
    end,
    qk_norm = false,
    theta_marked = false, -- no key for it
})
types.phi3 = with(modern, sized(3072, 32, 32, 8192, 4096, { original = 4096, norm_eps = 1e-5 }), {
    rotary_dim = facts.rotary_share(number("partial_rotary_factor", 1.0)),
    window = length("sliding_window", NONE, NONE),
    note = "fused qkv_proj [q|k|v]",
})

types.starcoder2 = with(modern, fixed_kv_heads, sized(3072, 24, 30, 12288, 4096, { kv_heads = 2,
    act = "gelu_tanh" }), {
    gated = false,
    qkv_bias = flag("use_bias", true),
    o_bias = flag("use_bias", true),
    ffn_bias = flag("use_bias", true),
    norm_type = "layernorm",
    norm_eps = facts.eps("norm_epsilon", 1e-5),
    window = length("sliding_window", NONE, NONE),
})

local cohere_block = with(layernorm, { place = "parallel", norm_bias = false })
types.cohere = with(modern, any_bias, cohere_block, sized(8192, 64, 40, 22528, 8192), {
    theta_key = function() return facts.base "rope_theta" end, -- 10000 or 500000, by version
    rope_layout = "interleaved",
    qk_norm = if_flag(flag("use_qk_norm", false, false),
        qk_norm("layernorm", "head", "layer_norm_eps", 1e-5, { weights = "per_head" })),
    note = "parallel, one LN",
})
types.cohere2 = with(modern, any_bias, cohere_block, sized(8192, 64, 40, 22528, 8192), {
    rope_layout = "interleaved",
    variants = split(sliding_pattern("sliding_window_pattern _sliding_window_pattern", 4),
        local_and_global),
    window = window_of_layers(4096),
    -- global layers know no positions
    rope = function(f) return f.sliding and facts.rope(f) or nil end,
    position = function(f) return f.sliding and "rope-gptj" or "none" end,
    note = function(f) return f.sliding and "parallel, one LN" or "NoPE" end,
})

types.olmo = with(modern, any_bias, layernorm, fixed_eps, sized(4096, 32, 32, 11008, 2048), {
    norm_weight = false,
    norm_bias = false,
    clip_qkv = number("clip_qkv", NONE, NONE),
})
local rms_full = qk_norm("rmsnorm", "full", "rms_norm_eps", 1e-5)
types.olmo2 = with(modern, any_bias, sized(4096, 32, 32, 11008, 2048, { norm_eps = 1e-5 }), {
    place = "res_post",
    qk_norm = rms_full,
    note = function(f)
        local q, k = f.heads * f.head_dim, f.kv_heads * f.head_dim
        return q == k and ("extra = the two qk-norm vectors of %d"):format(q)
            or ("extra = the qk-norm vectors of %d and %d"):format(q, k)
    end,
})
types.olmoe = with(modern, any_bias, experts, sized(2048, 16, 16, 2048, 4096,
    { norm_eps = 1e-5 }), {
    qk_norm = rms_full,
    clip_qkv = facts.only(number("clip_qkv", NONE, NONE), nil,
        "clamping behind the norms of q and k is not supported; it takes null"),
    note = "ffn width is per expert",
})
-- With a window, global layers know no positions.
types.exaone4 = with(modern, sized(4096, 32, 32, 16384, 2048, { norm_eps = 1e-5 }), {
    place = "res_post",
    qk_norm = qk_norm("rmsnorm", "head", "rms_norm_eps", 1e-5),
    variants = split(function(i, f)
        return f:read(length("sliding_window", 4096, NONE)) ~= nil
            and (i + 1) % f:read(size("sliding_window_pattern", 4)) ~= 0
    end, local_and_global),
    window = window_of_layers(4096),
    turns = function(f)
        return f.sliding or f:read(length("sliding_window", 4096, NONE)) == nil
    end,
    rope = function(f) return f.turns and facts.rope(f) or nil end,
    position = function(f) return f.turns and "rope-neox" or "none" end,
})
types.olmo3 = with(types.olmo2, {
    theta_key = function() return facts.base "rope_theta" end, -- 10000 or 500000, by version
    variants = split(function(i) return (i + 1) % 4 ~= 0 end, local_and_global),
    window = window_of_layers(4096),
    scaled = function(f) return not f.sliding end,
})

types.stablelm = with(modern, fixed_kv_heads, layernorm, sized(2560, 32, 32, 6912, 4096,
    { kv_heads = 32 }), {
    rotary_dim = facts.rotary_share(number("partial_rotary_factor", 0.25)),
    qkv_bias = flag("use_qkv_bias", false),
    place = function(f)
        return f:read(flag("use_parallel_residual", false)) and "parallel" or "pre"
    end,
    qk_norm = if_flag(flag("qk_layernorm", false),
        qk_norm("layernorm", "head", "layer_norm_eps", 1e-5, { weights = "per_head" })),
    note = function(f) return f:read(flag("use_parallel_residual", false))
        and "parallel residual" or "" end,
})

types.granite = with(modern, any_bias, any_ffn_bias,
    scale_by_factor("attention_multiplier", 1.0), sized(4096, 32, 32, 11008, 2048), {
        residual_multiplier = facts.of("block.residual_multiplier")("residual_multiplier", 1.0),
        embedding_multiplier = number("embedding_multiplier", 1.0),
        note = function(f)
            return ("residual_multiplier %s after o_proj"):format(
                facts.plain(f.residual_multiplier))
        end,
    })
types.granitemoe = with(types.granite, experts, { note = "ffn width is per expert" })
types.granitemoeshared = types.granitemoe

-- Every no_rope_layer_interval-th layer knows no positions; with use_sliding_window it slides.
types.smollm3 = with(modern, any_bias, any_ffn_bias, sized(2048, 16, 36, 11008, 32768,
    { kv_heads = 4, theta = 2e6 }), {
    variants = function(f)
        local given = f:read(list("no_rope_layers", NONE, NONE))
        local interval = f:read(size("no_rope_layer_interval", 4))
        local slides = f:read(flag("use_sliding_window", false))
            and f:read(length("sliding_window", NONE, NONE)) ~= nil
        local turns = {}
        if given and #given < f.layers then
            f:refuse("no_rope_layers", ("%d of them for num_hidden_layers = %d layers"):format(
                #given, f.layers))
        end
        for i = 0, f.layers - 1 do
            local value = given and given[i + 1]
            if given and value ~= 0 and value ~= 1 then
                f:refuse("no_rope_layers", "it takes 1 for layers with rotary positions, 0 for "
                    .. "those without")
            end
            turns[i] = not given and (i + 1) % interval ~= 0 or value == 1
        end
        local kinds = layer_kinds(f, function(i) return slides and not turns[i] end)
        local n, variants = every(f, function(i) return not turns[i] end), {}
        for _, kind in ipairs { { true, false }, { true, true }, { false, false }, { false, true } }
        do
            local layers = {}
            for i = 0, f.layers - 1 do
                if turns[i] == kind[1] and (kinds[i] == "sliding_attention") == kind[2] then
                    layers[#layers + 1] = i
                end
            end
            local suffix = (kind[1] and "rope" or "nope") .. (kind[2] and "_local" or "")
            local which = facts.layer_list(layers)
            if n then
                which = kind[1] and ("%d of %d"):format(n - 1, n) or "every " .. ordinal(n)
            end
            variants[#variants + 1] = { layers = layers, suffix = suffix,
                label = ("%s layers (%s)"):format(suffix:gsub("_", " "), which),
                facts = { turns = kind[1], sliding = kind[2] } }
        end
        return variants
    end,
    window = window_of_layers(NONE),
    rope = function(f) return f.turns and facts.rope(f) or nil end,
    position = function(f) return f.turns and "rope-neox" or "none" end,
})

-- What gpt_oss scales by where its config does not say.
local gpt_oss_yarn = {
    scaling = { type = "yarn", factor = 32.0, beta_fast = 32.0, beta_slow = 1.0, truncate = false,
        original_max_position_embeddings = 4096,
        attention_factor = facts.yarn_magnitude(32, 1) },
    text = ("yarn x32 (no truncate; cos/sin times %.7g)"):format(facts.yarn_magnitude(32, 1)),
}
types.gpt_oss = with(modern, experts, sized(2880, 64, 36, 2880, 131072,
    { kv_heads = 8, head_dim = 64, theta = 150000 }), {
    qkv_bias = flag("attention_bias", true),
    o_bias = flag("attention_bias", true),
    sinks = true,
    variants = split(alternating, sliding_and_full),
    window = window_of_layers(128),
    rope_standard = gpt_oss_yarn,
    ffn_act = function(f)
        return ("clamped swiglu (limit %s, alpha %s)"):format(
            facts.plain((f:read(number("swiglu_limit", 7.0)))),
            facts.plain((f:read(number("swiglu_alpha", 1.702)))))
    end,
    note = function(f)
        local width = f.heads * f.head_dim
        return (width ~= f.d_model and ("heads*head_dim=%d != hidden %d; "):format(width, f.d_model)
            or "") .. ("extra = %d sinks; ffn per expert (%d, top %d)"):format(f.heads,
            f:read(size("num_local_experts num_experts", 128)),
            f:read(size("num_experts_per_tok experts_per_token", 4)))
    end,
})

-- ---- latent attention ----

-- Experts from layer first_k_dense_replace on, in each moe_layer_freq-th.
local function experts_of_deepseek(dense, routed)
    return dense_and_experts(function(f)
        local first = f:read(facts.count("first_k_dense_replace", dense))
        local each = f:read(size("moe_layer_freq", 1))
        local any = f:read(size("n_routed_experts", routed, NONE)) ~= nil
        return function(i) return any and i >= first and i % each == 0 end
    end)
end

-- Ranks and widths of latent attention, as the class has them.
local function latent(kv_rank, q_rank, nope_dim, rope_dim)
    return function(f)
        return {
            kv_rank = f:read(facts.of("mla.kv_rank")("kv_lora_rank", kv_rank)),
            q_rank = f:read(facts.of("mla.q_rank")("q_lora_rank", q_rank, NONE)),
            nope_dim = f:read(facts.of("mla.nope_dim")("qk_nope_head_dim", nope_dim)),
            rope_dim = f:read(facts.of("mla.rope_dim")("qk_rope_head_dim", rope_dim)),
            eps = 1e-6,
        }
    end
end

local mla = with(modern, {
    one_row = "-", -- the attention is the same
    kv_heads = function(f)
        local given = f:read(facts.kv_heads("num_key_value_heads", NONE, fact "heads"))
        if given ~= f.heads then
            f:refuse("num_key_value_heads", ("latent attention has a key and value for each of "
                .. "its num_attention_heads = %d heads"):format(f.heads))
        end
        return given
    end,
    mla = latent(512, 1536, 128, 64),
    head_dim = function(f) return f.mla.nope_dim + f.mla.rope_dim end,
    v_head_dim = facts.of("v_head_dim")("v_head_dim", 128),
    rotary_dim = function(f) return f.mla.rope_dim end,
    rope_layout = "interleaved",
    position = function(f)
        return ("rope-%s on the %d rope dims"):format(f.rope_layout == "half" and "neox" or "gptj",
            f.mla.rope_dim)
    end,
    qkv_bias = function(f)
        return f:read(flag("attention_bias", false))
            and (f.mla.q_rank and "q_a,kv_a only" or "kv_a only")
    end,
    o_bias = flag("attention_bias", false),
    -- yarn's magnitude goes into the scores, once for q and once for k: so the model's own code for
    -- both; transformers' class for the second leaves it out
    scale = function(f)
        local rope = f.rope
        local m = rope.all_dims and facts.yarn_magnitude(rope.scaling.factor, rope.all_dims) or 1
        return m * m / math.sqrt(f.head_dim)
    end,
    scale_text = function(f)
        local rope = f.rope
        if not rope.all_dims then
            return ("1/sqrt(%d)=%.9g"):format(f.head_dim, f.scale)
        end
        return ("%d^-0.5*%.7g^2=%.9g"):format(f.head_dim,
            facts.yarn_magnitude(rope.scaling.factor, rope.all_dims), f.scale)
    end,
    note = function(f)
        return ("qk %d nope + %d rope, v %d; latent cache %d+%d; expanded cache would be %d "
            .. "bytes; extra = latent RMS norm vectors"):format(f.mla.nope_dim, f.mla.rope_dim,
            f.v_head_dim, f.mla.kv_rank, f.mla.rope_dim,
            2 * f.heads * (f.head_dim + f.v_head_dim))
    end,
})
types.deepseek_v2 = with(mla, any_ffn_bias, sized(4096, 32, 32, 11008, 2048), {
    variants = experts_of_deepseek(0, 64),
})
types.deepseek_v3 = with(mla, sized(7168, 128, 61, 18432, 4096, { kv_heads = 128 }), {
    variants = experts_of_deepseek(3, 256),
    rope_layout = function(f)
        return f:read(flag("rope_interleave", true)) and "interleaved" or "half"
    end,
})
types.kimi_k2 = types.deepseek_v3
-- The first one, with keys and values as they are.
types.deepseek = with(modern, any_bias, sized(4096, 32, 32, 11008, 2048), {
    one_row = "-",
    variants = experts_of_deepseek(0, NONE),
})
types.minicpm3 = with(mla, minicpm, sized(4096, 32, 32, 11008, 2048), {
    mla = latent(256, 768, 64, 32),
    rope_layout = "half",
    scale = attention.scale,
    scale_text = attention.scale_text,
    v_head_dim = function(f)
        local dim, given = facts.share(f), f:read(facts.of("v_head_dim")("v_head_dim", NONE, NONE))
        if given and given ~= dim then
            f:refuse("v_head_dim", ("its code takes hidden_size / num_attention_heads = %d"):format(
                dim))
        end
        return dim
    end,
})

-- ---- GPT-2 and its time ----

local gpt2 = with(attention, layernorm_of_gpt2, {
    ffn_bias = true,
    label = "decoder",
    d_model = must "n_embd hidden_size",
    heads = facts.heads "n_head num_attention_heads",
    layers = must "n_layer num_hidden_layers",
    max_seq = length "n_positions max_position_embeddings",
    ffn_width = times("n_inner", 4),
    act = activation "activation_function",
    causal = true,
    position = "learned",
    table_seq = fact "max_seq",
    qkv_bias = true,
    o_bias = true,
    scale = function(f)
        return f:read(flag("scale_attn_weights", true)) and 1 / math.sqrt(f.head_dim) or 1.0
    end,
    scale_text = function(f)
        return f:read(flag("scale_attn_weights", true))
            and ("1/sqrt(%d)=%.9g"):format(f.head_dim, f.scale) or "1.0"
    end,
})
types.gpt2 = with(gpt2, sized(768, 12, 12, nil, 1024, { act = "gelu_tanh" }), {
    weights_layout = "in_out",
    note = "fused c_attn, Conv1D layout [in,out]",
    by_layer = facts.only(flag("scale_attn_by_inverse_layer_idx", false), false,
        "a scale of each layer's own is not supported; it takes false"),
    crosses = facts.only(flag("add_cross_attention", false), false,
        "cross attention is not read for this model type; it takes false"),
})
types.gpt_bigcode = with(gpt2, sized(768, 12, 12, nil, 1024, { act = "gelu_tanh" }), {
    kv_heads = function(f) return f:read(flag("multi_query", true)) and 1 or f.heads end,
    note = "fused c_attn [q(all)|k|v], Linear layout",
})
types.gptj = with(gpt2, sized(4096, 16, 28, nil, 2048, { act = "gelu_tanh" }), {
    scale = attention.scale,
    scale_text = attention.scale_text,
    table_seq = false,
    position = "rope-gptj",
    rope_layout = "interleaved",
    rotary_dim = function(f)
        local dim = f:read(size("rotary_dim", 64, fact "head_dim"))
        if dim > f.head_dim then
            f:refuse("rotary_dim", ("more than a head's %d channels"):format(f.head_dim))
        end
        return dim
    end,
    rope = function(f)
        return { theta = 10000, rotary_dim = f.rotary_dim, layout = f.rope_layout }
    end,
    qkv_bias = false,
    o_bias = false,
    place = "parallel",
    note = "parallel attn+mlp, one LN",
})
types.codegen = with(types.gptj, {
    note = "fused qkv_proj of four parts [q|v|k]; parallel attn+mlp, one LN",
})
types["openai-gpt"] = with(gpt2, sized(768, 12, 12, nil, 512), {
    weights_layout = "in_out",
    place = "post",
    scale = attention.scale,
    scale_text = attention.scale_text,
    act = function(f)
        -- its gelu is the one by tanh
        local acts = { gelu = "gelu_tanh", relu = "relu", silu = "silu", swish = "silu" }
        local act = acts[f:read(word("afn", "gelu"))]
        if not act then
            f:refuse("afn", "it takes gelu, relu, silu or swish")
        end
        return act
    end,
    note = "fused c_attn, Conv1D layout [in,out]",
})
types.gpt_neo = with(attention, unscaled, layernorm_of_gpt2, sized(2048, 16, 24, nil, 2048,
    { act = "gelu_tanh" }), {
    label = "decoder",
    d_model = must "hidden_size",
    heads = facts.heads "num_heads num_attention_heads",
    layers = must "num_layers num_hidden_layers",
    max_seq = length "max_position_embeddings",
    ffn_width = times("intermediate_size", 4),
    act = activation "activation_function",
    causal = true,
    position = "learned",
    table_seq = fact "max_seq",
    qkv_bias = false,
    o_bias = true,
    ffn_bias = true,
    -- attention_types = [[["global", "local"], 12]]: twelve times global, local
    variants = function(f)
        local given = f:read(list("attention_types", NONE, NONE))
            or { { { "global", "local" }, 12 } }
        local kinds = {}
        for _, group in ipairs(given) do
            local names = type(group) == "table" and group[1]
            local count = type(group) == "table" and group[2]
            if type(names) ~= "table" or math.type(count) ~= "integer" or count < 1
                or count > f.layers then
                f:refuse("attention_types", "it takes [[[\"global\", \"local\"], 12]], or the like")
            end
            for _ = 1, count do
                for _, name in ipairs(names) do
                    if name ~= "global" and name ~= "local" then
                        f:refuse("attention_types", "it takes global and local layers only")
                    end
                    kinds[#kinds + 1] = name
                end
            end
        end
        if #kinds ~= f.layers then
            f:refuse("attention_types", ("%s %d layers, %s says %d"):format(f:reader():value(
                "attention_types") == nil and "the class's own makes" or "it makes", #kinds,
                f:key_of("layers"):match("%S+"), f.layers))
        end
        local variants = {}
        for _, name in ipairs { "global", "local" } do
            local layers = {}
            for i, kind in ipairs(kinds) do
                if kind == name then
                    layers[#layers + 1] = i - 1
                end
            end
            variants[#variants + 1] = { layers = layers, suffix = name,
                label = ("%s layers (%s)"):format(name, facts.layer_list(layers)),
                facts = { sliding = name == "local" } }
        end
        return variants
    end,
    window = function(f) return f.sliding and f:read(length("window_size", 256)) end,
})
types.gpt_neox = with(modern, layernorm, sized(6144, 64, 44, 24576, 2048, { act = "gelu" }), {
    kv_heads = fact "heads",
    head_dim = facts.share,
    theta_key = function() return facts.base("rotary_emb_base rope_theta", 10000) end,
    rotary_dim = facts.rotary_share(number("rotary_pct partial_rotary_factor", 0.25)),
    gated = false,
    qkv_bias = flag("attention_bias", true),
    o_bias = flag("attention_bias", true),
    ffn_bias = true,
    place = function(f)
        return f:read(flag("use_parallel_residual", true)) and "parallel" or "pre"
    end,
    parallel_norms = function(f) return f.place == "parallel" and 2 or nil end,
    note = function(f) return f.place == "parallel" and "parallel residual" or "" end,
})
types.opt = with(attention, sized(768, 12, 12, 3072, 2048, { act = "relu" }), {
    label = "decoder",
    d_model = must "hidden_size",
    heads = facts.heads "num_attention_heads",
    layers = must "num_hidden_layers",
    ffn_width = must "ffn_dim",
    max_seq = length "max_position_embeddings",
    act = activation "activation_function",
    causal = true,
    position = "learned(offset 2)",
    table_seq = fact "max_seq",
    qkv_bias = flag("enable_bias", true),
    o_bias = flag("enable_bias", true),
    ffn_bias = flag("enable_bias", true),
    norm_eps = 1e-5,
    place = function(f)
        return f:read(flag("do_layer_norm_before", true)) and "pre" or "post"
    end,
    norm_weight = flag("layer_norm_elementwise_affine", true),
    norm_bias = fact "norm_weight",
})
types.bloom = with(attention, layernorm_of_gpt2, sized(64, 8, 2), {
    label = "decoder",
    d_model = must "hidden_size n_embed",
    heads = facts.heads "n_head num_attention_heads",
    layers = must "n_layer num_hidden_layers",
    max_seq = length("seq_length", NONE, NONE),
    ffn_width = function(f) return 4 * f.d_model end, -- n_inner is not looked at
    act = "gelu_tanh",
    causal = true,
    position = "alibi(2^-8/n slopes)",
    alibi = true,
    qkv_bias = true,
    o_bias = true,
    ffn_bias = true,
    no_block = function(f)
        return f:read(flag("apply_residual_connection_post_layernorm", false))
            and "its residuals branch off behind the norms" or nil
    end,
    note = "fused qkv per head [q,k,v]; embedding LN",
})

-- Scores plus alibi are scaled together, so a slope counts 1/sqrt(head_dim) of itself.
local function falcon_alibi(f)
    return f:read(flag("alibi", false)) and { scale = f.scale } or nil
end
types.falcon = with(attention, layernorm_of_gpt2, sized(4544, 71, 32, nil, 2048), {
    label = "decoder",
    d_model = must "hidden_size n_embed",
    heads = facts.heads "num_attention_heads n_head",
    layers = must "num_hidden_layers n_layer",
    kv_heads = function(f)
        local new = f:read(flag("new_decoder_architecture"), "new_architecture")
        if not new and f:read(flag("multi_query", true)) then
            return 1 -- whatever num_kv_heads says
        end
        return f:read(facts.kv_heads("num_kv_heads n_head_kv", NONE, fact "heads"))
    end,
    max_seq = length "max_position_embeddings",
    ffn_width = times("ffn_hidden_size", 4),
    act = activation("activation", "gelu"),
    causal = true,
    alibi = falcon_alibi,
    position = function(f)
        return f.alibi and "alibi(2^-8/n slopes, scaled as the scores)" or "rope-neox"
    end,
    theta_key = function() return facts.base("rope_theta", 10000) end,
    rotary_dim = fact "head_dim",
    rope_layout = "half",
    rope = function(f) return not f.alibi and facts.rope(f) or nil end,
    qkv_bias = flag("bias", false),
    o_bias = flag("bias", false),
    ffn_bias = flag("bias", false),
    place = function(f)
        return (f:read(flag("new_decoder_architecture"), "new_architecture")
            or f:read(flag("parallel_attn", true))) and "parallel" or "pre"
    end,
    -- one or two norms in parallel, of the new architecture
    parallel_norms = function(f)
        local new = f:read(flag("new_decoder_architecture"), "new_architecture")
        local norms = new and f:read(facts.of("block.parallel_norms")("num_ln_in_parallel_attn", 2,
            2))
        return norms or nil
    end,
    note = function(f)
        local new = f:read(flag("new_decoder_architecture"), "new_architecture")
        if new then
            return ("parallel, %s; fused qkv per group [%dq,k,v]"):format(
                f.parallel_norms == 2 and "two LNs" or "one LN", f.heads // f.kv_heads)
        end
        local given = f:read(facts.kv_heads("num_kv_heads n_head_kv", NONE, fact "heads"))
        return (f.kv_heads ~= given and f:reader():spelled("num_kv_heads n_head_kv")
            and ("num_kv_heads %d in file must be ignored: multi_query & !new_decoder_architecture"
                .. " => 1; "):format(given) or "")
            .. (f:read(flag("parallel_attn", true)) and "parallel, one LN" or "")
    end,
    key_names = { kv_heads = "num_kv_heads n_head_kv" },
    defaults = { new_architecture = false },
})
types.RefinedWebModel = types.falcon
-- The first files of the 40B model, whose code knew no other architecture.
types.RefinedWeb = with(types.falcon, { defaults = { new_architecture = true } })

local function mpt_part(f)
    local value = f:reader():value("attn_config")
    if value == nil or value == NONE then
        return facts.new(facts.reader("", {}), {})
    end
    return facts.new(f:reader():part("attn_config"), {})
end
types.mpt = with(attention, sized(2048, 16, 24, nil, 2048), {
    label = "decoder",
    d_model = must "d_model hidden_size",
    heads = facts.heads "n_heads num_attention_heads",
    layers = must "n_layers num_hidden_layers",
    max_seq = length "max_seq_len",
    ffn_width = function(f) return f:read(size("expansion_ratio", 4)) * f.d_model end,
    key_names = { ffn_width = "expansion_ratio" },
    act = "gelu",
    causal = true,
    part = mpt_part,
    clip_qkv = function(f) return (f.part:read(number("clip_qkv", NONE, NONE))) end,
    alibi = function(f)
        facts.only(word("attn_type", "multihead_attention"), "multihead_attention",
            "not supported; it takes multihead_attention")(f.part)
        facts.only(flag("alibi", true), true, "positions without alibi are not supported here; "
            .. "it takes true")(f.part)
        facts.only(flag("prefix_lm", false), false, "not supported; it takes false")(f.part)
        facts.only(flag("qk_ln", false), false, "not supported; it takes false")(f.part)
        local most = f.part:read(facts.of("alibi.bias_max")("alibi_bias_max", 8))
        return most == 8 or { bias_max = most }
    end,
    position = function(f)
        local most = f.part:read(facts.of("alibi.bias_max")("alibi_bias_max", 8))
        return ("alibi(bias_max %s)"):format(facts.plain(most))
    end,
    scale = function(f)
        return f.part:read(number("softmax_scale", NONE, NONE)) or attention.scale(f)
    end,
    scale_text = function(f)
        local given = f.part:read(number("softmax_scale", NONE, NONE))
        return given and "softmax_scale=" .. facts.plain(given) or attention.scale_text(f)
    end,
    no_bias = facts.only(flag("no_bias", true), true,
        "the authors' code then has biases, transformers' has none; it takes true"),
    qkv_bias = false,
    o_bias = false,
    norm_bias = false,
    norm_eps = facts.eps("layer_norm_epsilon", 1e-5),
    note = "learned_pos_emb is ignored since alibi; fused Wqkv [q|k|v]",
})

-- Files in the key names of karpathy's nanoGPT and llama2.c (and of Meta's LLaMA), which have no
-- model_type.
types.nanogpt = with(gpt2, sized(768, 12, 12, nil, 1024), {
    d_model = must "n_embd",
    heads = facts.heads "n_head",
    layers = must "n_layer",
    max_seq = must "block_size",
    ffn_width = function(f) return 4 * f.d_model end,
    act = "gelu",
    scale = attention.scale,
    scale_text = attention.scale_text,
    qkv_bias = flag("bias", true),
    o_bias = flag("bias", true),
    norm_bias = flag("bias", true),
    norm_eps = 1e-5,
    ffn_bias = flag("bias", true),
    note = "fused c_attn [q|k|v], Linear layout",
})
types["llama2.c"] = with(modern, sized(4096, 32, 32), {
    d_model = must "dim",
    heads = facts.heads "n_heads",
    layers = must "n_layers",
    kv_heads = facts.kv_heads("n_kv_heads", NONE, fact "heads"),
    head_dim = facts.share,
    max_seq = length("max_seq_len", NONE, NONE),
    -- two thirds of four times the width, up to a multiple, which its training and its model
    -- choose differently where the file does not say
    ffn_width = function(f)
        local given = f:read(size("hidden_dim", NONE, NONE))
        if given then
            return given
        end
        local width = 8 * f.d_model // 3
        width = math.floor(width * f:read(number("ffn_dim_multiplier", 1, 1)))
        local multiple = f:read(size("multiple_of", NONE, NONE))
        local function up(m) return (width + m - 1) // m * m end
        if not multiple and up(32) ~= up(256) then
            f:reader():missing("hidden_dim", "it, or multiple_of, gives the feed-forward's width")
        end
        return up(multiple or 32)
    end,
    key_names = { ffn_width = "hidden_dim ffn_dim_multiplier multiple_of" },
    act = "silu",
    norm_eps = facts.eps("norm_eps", 1e-5),
    rope_layout = "interleaved",
    theta_marked = false,
    unscaled = facts.only(flag("use_scaled_rope", false), false,
        "how positions are scaled is not in this file; it takes false"),
})
-- The first RoBERTa files have none either, and are told by their name.
models.by_name = { "xlm-roberta", "roberta" }
models.by_keys = {
    { type = "llama2.c", keys = "dim n_layers n_heads norm_eps" },
    { type = "nanogpt", keys = "n_layer n_head n_embd block_size" },
}

-- ---- encoders ----

local bert = with(attention, sized(768, 12, 12, 3072, 512, { act = "gelu" }), {
    label = function(f) return f.causal and "decoder" or "encoder" end,
    d_model = must "hidden_size",
    heads = facts.heads "num_attention_heads",
    layers = must "num_hidden_layers",
    ffn_width = must "intermediate_size",
    max_seq = length "max_position_embeddings",
    act = activation "hidden_act",
    causal = flag("is_decoder", false),
    position = "learned",
    table_seq = fact "max_seq",
    qkv_bias = true,
    o_bias = true,
    ffn_bias = true,
    place = "post",
    norm_eps = facts.eps("layer_norm_eps", 1e-12),
    absolute = facts.only(word("position_embedding_type", "absolute"), "absolute",
        "positions relative to a key's content are not supported; it takes absolute"),
    crosses = facts.only(flag("add_cross_attention", false), false,
        "cross attention is not read for this model type; it takes false"),
})
types.bert = bert
-- Two positions are for padding.
types.roberta = with(bert, {
    position = "learned(offset 2)",
    max_seq = function(f)
        local rows = f:read(length("max_position_embeddings", 512))
        if rows < 3 then
            f:refuse("max_position_embeddings", "two positions are for padding; it takes 3 or more")
        end
        return rows - 2
    end,
})
types["xlm-roberta"], types.camembert = types.roberta, types.roberta
types["data2vec-text"] = types.roberta
types.electra = with(bert, sized(256, 4, 12, 1024, 512))
types.esm = with(bert, {
    absolute = facts.only(word("position_embedding_type", "absolute"), "rotary",
        "other positions are not read for this model type; it takes rotary"),
    position = "rope-neox",
    table_seq = false,
    rope = function(f)
        return { theta = 10000, rotary_dim = f.head_dim, layout = "half" }
    end,
    place = "pre",
})
types.albert = with(bert, sized(4096, 64, 12, 16384, 512, { act = "gelu_tanh" }), {
    inner = facts.only(size("inner_group_num", 1), 1,
        "groups of several attentions are not read; it takes 1"),
    note = function(f)
        local groups = f:read(size("num_hidden_groups", 1))
        return groups == 1 and "all layers share one set of weights"
            or ("layers share %d sets of weights, in groups"):format(groups)
    end,
})
types.distilbert = with(bert, sized(768, 12, 6, 3072, 512), {
    label = "encoder",
    d_model = must "dim hidden_size",
    heads = facts.heads "n_heads num_attention_heads",
    layers = must "n_layers num_hidden_layers",
    ffn_width = must "hidden_dim",
    act = activation "activation",
    causal = false,
    norm_eps = 1e-12,
    position = function(f)
        return f:read(flag("sinusoidal_pos_embds", false)) and "sinusoidal(added)" or "learned"
    end,
})

types.modernbert = with(modern, sized(768, 12, 22, 1152, 8192), {
    label = "encoder",
    kv_heads = fact "heads",
    head_dim = facts.share,
    act = activation "hidden_activation",
    defaults = { act = "gelu" },
    causal = false,
    qkv_bias = flag("attention_bias", false),
    o_bias = flag("attention_bias", false),
    norm_type = "layernorm",
    norm_bias = flag("norm_bias", false),
    norm_eps = facts.eps("norm_eps", 1e-5),
    ffn_bias = flag("mlp_bias", false),
    variants = split(function(i, f)
        return i % f:read(size("global_attn_every_n_layers", 3)) ~= 0
    end, function(f, kinds, found)
        local n = f.layers > 1 and found.full_attention and found.full_attention[2]
        for i = 0, f.layers - 1 do
            n = n and (kinds[i] == "full_attention") == (i % n == 0) and n
        end
        local variants = {}
        for _, each in ipairs {
            { kind = "full_attention", suffix = "global", label = ("encoder/global layers (%s)")
                :format(n and ("i%%%d==0"):format(n)
                    or facts.layer_list(found.full_attention or {})) },
            { kind = "sliding_attention", suffix = "local", label = "encoder/local layers" },
        } do
            if each.kind == kinds[0] then -- the first layer has no norm before attention
                each.layers = table.move(found[each.kind], 2, #found[each.kind], 1, {})
                each.row = false
                variants[#variants + 1] = { kind = each.kind, suffix = "first", layers = { 0 },
                    label = "encoder/first layer", row_label = each.label,
                    attention_norm = false }
            end
            variants[#variants + 1] = each
        end
        return variants
    end),
    window_right = fact "window",
    -- local_attention counts both sides
    window = function(f)
        return f.sliding and f:read(length("local_attention", 128)) // 2 + 1
    end,
    window_text = function(f)
        return f.sliding and ("bidirectional, %d each side (local_attention %d is the total)")
            :format(f.window - 1, f:read(length("local_attention", 128))) or nil
    end,
    theta_key = function(f)
        return f.sliding and facts.base("local_rope_theta", 10000)
            or facts.base("global_rope_theta", 160000)
    end,
    theta_marked = false,
    note = function(f)
        return f.sliding and "" or "first layer has no attn norm; fused Wqkv"
    end,
})

-- Patches of an image; `more` is how many positions come before them. image, patch: the defaults.
local function patches(image, patch, more)
    return function(f)
        local given = f:reader():value("image_size")
        local sides = type(given) == "table" and given ~= NONE and given or nil -- two of them
        local one = not sides and f:read(size("image_size", image))
        local edge = f:read(size("patch_size", patch))
        local count = 1
        for i = 1, 2 do
            local side = sides and sides[i] or one
            if math.type(side) ~= "integer" or side < edge or sides and #sides ~= 2 then
                f:refuse("image_size", ("it takes whole numbers from patch_size = %d on"):format(
                    edge))
            end
            count = count * (side // edge)
        end
        return count + more
    end
end

local vision = with(attention, {
    label = "encoder",
    d_model = must "hidden_size",
    heads = facts.heads "num_attention_heads",
    layers = must "num_hidden_layers",
    ffn_width = must "intermediate_size",
    act = activation "hidden_act",
    causal = false,
    position = "learned",
    tokens_from = "image_size and patch_size",
    key_names = { tokens = "image_size" },
    qkv_bias = true,
    o_bias = true,
    ffn_bias = true,
    norm_eps = facts.eps("layer_norm_eps", 1e-12),
    note = function(f) return ("%d tokens"):format(f.tokens) end,
    defaults = { act = "gelu" },
})
types.vit = with(vision, sized(768, 12, 12, 3072), {
    tokens = patches(224, 16, 1),
    qkv_bias = flag("qkv_bias", true),
})
types.deit = with(types.vit, { tokens = patches(224, 16, 2) })
types.dinov2 = with(types.vit, {
    layer_scale = "layer_scale1.lambda1 and layer_scale2.lambda1",
    defaults = { norm_eps = 1e-6 },
    tokens = patches(224, nil, 1), -- patch_size 14 or 16, by version
    gated = flag("use_swiglu_ffn", false),
    act = function(f)
        return f.gated and "silu" or f:read(activation("hidden_act", "gelu"))
    end,
    key_names = { ffn_width = "mlp_ratio", tokens = "image_size" },
    -- the gated one has two thirds of the width, up to a multiple of 8
    ffn_width = function(f)
        local width = math.floor(f.d_model * f:read(number("mlp_ratio", 4)))
        return f.gated and (width * 2 // 3 + 7) // 8 * 8 or width
    end,
})
types.dinov2_with_registers = with(types.dinov2, {
    tokens = function(f)
        return patches(224, nil, 1)(f) + f:read(facts.count("num_register_tokens", 4))
    end,
})
types.clip_vision_model = with(vision, sized(768, 12, 12, 3072, nil, { act = "quick_gelu",
    norm_eps = 1e-5 }), {
    tokens = patches(224, 32, 1),
})
types.clip_text_model = with(vision, sized(512, 8, 12, 2048, 77, { act = "quick_gelu",
    norm_eps = 1e-5 }), {
    label = "decoder",
    causal = true,
    max_seq = length "max_position_embeddings",
    table_seq = fact "max_seq",
    note = function(f) return ("%d tokens"):format(f.max_seq) end,
})
types.siglip_vision_model = with(vision, sized(768, 12, 12, 3072, nil, { act = "gelu_tanh",
    norm_eps = 1e-6 }), {
    tokens = patches(224, 16, 0),
    note = function(f) return ("%d patches"):format(f.tokens) end,
})
types.siglip_text_model = with(types.clip_text_model,
    sized(768, 12, 12, 3072, 64, { act = "gelu_tanh", norm_eps = 1e-6 }),
    { label = "encoder", causal = false })

-- Images of any shape, in up to so many patches.
types.siglip2_vision_model = with(types.siglip_vision_model, {
    tokens = size("num_patches", 256),
    tokens_from = "num_patches",
    mask = "bool",
    mask_text = "patches that an image of another shape does not fill",
})
types.siglip2_text_model = types.siglip_text_model

local audio = with(vision, sized(768, 12, 12, 3072, nil, { norm_eps = 1e-5 }), {
    position = "convolution(added)",
    tokens_from = false,
    place = function(f)
        return f:read(flag("do_stable_layer_norm", false)) and "pre" or "post"
    end,
    note = "as many positions as frames",
})
types.wav2vec2, types.hubert = audio, audio

-- ---- encoders with decoders ----

-- A decoder's layer is two specs.
local self_part = { without_ffn = true,
    layer_part = "self attention alone; the block of cross attention comes after it in each layer" }
local cross_part = {
    crosses = true,
    layer_part = "cross attention and feed-forward; the block of self attention comes before it",
    embedding_multiplier = 1.0 }

local function scaled_embeddings(default)
    return { embedding_multiplier = function(f)
        return f:read(flag("scale_embedding", default)) and root_of_width(f) or 1.0
    end }
end

-- Self and cross attention in the key names of BART's time.
local function encoder_decoder(d_model, layers, heads, ffn_width, max_seq, act, more)
    return with(attention, {
        d_model = must "d_model hidden_size",
        act = activation "activation_function",
        causal = false,
        max_seq = length "max_position_embeddings",
        table_seq = function(f) return f.position:find("^learned") and f.max_seq end,
        qkv_bias = true,
        o_bias = true,
        ffn_bias = true,
        norm_eps = 1e-5,
        defaults = { d_model = d_model, act = act, layers = layers, heads = heads,
            ffn_width = ffn_width, max_seq = max_seq },
    }, more, {
        components = {
            { label = "encoder", suffix = "encoder",
                heads = facts.heads "encoder_attention_heads", layers = must "encoder_layers",
                ffn_width = must "encoder_ffn_dim" },
            with(self_part, { label = "decoder self", suffix = "decoder", causal = true,
                heads = facts.heads "decoder_attention_heads", layers = must "decoder_layers",
                ffn_width = must "decoder_ffn_dim" }),
            with(cross_part, { label = "decoder cross", suffix = "cross", position = "none",
                source_seq = fact "max_seq",
                heads = facts.heads "decoder_attention_heads", layers = must "decoder_layers",
                ffn_width = must "decoder_ffn_dim" }),
        },
    })
end

types.bart = encoder_decoder(1024, 12, 16, 4096, 1024, "gelu",
    with({ position = "learned(offset 2)", place = "post" }, scaled_embeddings(false)))
types.mbart = encoder_decoder(1024, 12, 16, 4096, 1024, "gelu",
    with({ position = "learned(offset 2)" }, scaled_embeddings(false)))
types.marian = encoder_decoder(1024, 12, 16, 4096, 1024, "gelu",
    with({ position = "sinusoidal(added)", place = "post" }, scaled_embeddings(false)))
types.pegasus = encoder_decoder(1024, 12, 16, 4096, 1024, "gelu",
    with({ position = "sinusoidal(added)" }, scaled_embeddings(false)))
types.m2m_100 = encoder_decoder(1024, 12, 16, 4096, 1024, "relu",
    with({ position = "sinusoidal(added)" }, scaled_embeddings(true)))
types.whisper = encoder_decoder(384, 4, 6, 1536, 448, "gelu", {
    max_seq = length "max_target_positions",
    qkv_bias = "q,v only",
})
do
    local frames = length("max_source_positions", 1500)
    local encoder, self, cross = table.unpack(types.whisper.components)
    encoder.position, encoder.tokens = "sinusoidal(added)", frames
    encoder.tokens_from = "max_source_positions"
    self.position = "learned"
    cross.source_tokens, cross.source_seq = frames, nil
    cross.source_from = "the encoder's frames"
    encoder.note = function(f) return ("%d frames; k_proj has no bias"):format(f.tokens) end
    self.note = "k_proj has no bias"
    cross.note = function(f)
        return ("K/V from %d encoder frames, cached once"):format(f.source_tokens)
    end
end

local function buckets(bidirectional)
    return {
        relative_bias = function(f)
            local key = facts.of("relative_bias.buckets")("relative_attention_num_buckets", 32)
            if bidirectional and f:read(key) % 2 == 1 then
                f:refuse(key.names, "odd; half of them are for keys to the right")
            end
            return { buckets = f:read(key),
                max_distance = f:read(facts.of("relative_bias.max_distance")(
                    "relative_attention_max_distance", 128)), bidirectional = bidirectional }
        end,
        position = function(f)
            return ("relative bias (%d buckets, max %d, %s)"):format(f.relative_bias.buckets,
                f.relative_bias.max_distance, bidirectional and "bidirectional" or "unidirectional")
        end,
    }
end

local function t5(d_model, heads, layers, d_ff, feed_forward)
    local key = word("feed_forward_proj", feed_forward)
    local decoder_layers = size("num_decoder_layers", NONE, fact "encoder_layers")
    return with(attention, unscaled, {
        d_model = must "d_model hidden_size",
        heads = facts.heads "num_heads num_attention_heads",
        head_dim = facts.head_dim "d_kv",
        encoder_layers = must "num_layers num_hidden_layers",
        layers = decoder_layers,
        ffn_width = must "d_ff",
        max_seq = length("n_positions", NONE, NONE),
        causal = false,
        gated = function(f) return f:read(key):find("^gated%-") ~= nil end,
        act = function(f)
            local name = f:read(key):gsub("^gated%-", "")
            if name ~= "relu" and name ~= "gelu" and name ~= "silu" then
                f:refuse("feed_forward_proj",
                    "it takes relu, gelu, silu, gated-relu, gated-gelu or gated-silu")
            end
            return name == "gelu" and f.gated and "gelu_tanh" or name
        end,
        qkv_bias = false,
        o_bias = false,
        norm_type = "rmsnorm",
        norm_eps = facts.eps("layer_norm_epsilon", 1e-6),
        defaults = { d_model = d_model, heads = heads, encoder_layers = layers, ffn_width = d_ff,
            head_dim = 64 },
        components = {
            with(buckets(true), { label = "encoder", suffix = "encoder",
                layers = fact "encoder_layers",
                note = "bias table in layer 0 only, shared by all layers; d_kv independent of "
                    .. "d_model/heads" }),
            with(buckets(false), self_part, { label = "decoder self", suffix = "decoder",
                causal = true }),
            with(cross_part, { label = "decoder cross", suffix = "cross", position = "none",
                source_seq = fact "max_seq" }),
        },
    })
end
types.t5 = t5(512, 8, 6, 2048, "relu")
types.mt5 = t5(512, 6, 8, 1024, "gated-gelu")

types.umt5 = t5(512, 6, 8, 1024, "gated-gelu")
for _, part in ipairs(types.umt5.components) do
    if not part.crosses then
        part.note = "each layer has a bias table of its own; d_kv independent of d_model/heads"
    end
end
-- The biases come on top of learned positions.
types.mpnet = with(types.roberta, buckets(true), {
    position = function(f)
        return "learned(offset 2), " .. buckets(true).position(f)
    end,
    note = "bias table shared by all layers",
})

-- ---- models of several parts ----

local text_label, vision_label = "text_config", "vision_config"

types.clip = { parts = {
    { key = "text_config", instead = "text_config_dict", standard = "clip_text_model",
        types = "clip_text_model", label = text_label, suffix = "text" },
    { key = "vision_config", instead = "vision_config_dict", standard = "clip_vision_model",
        types = "clip_vision_model", label = vision_label, suffix = "vision" },
} }
types.siglip = { parts = {
    { key = "text_config", standard = "siglip_text_model", types = "siglip_text_model",
        label = text_label, suffix = "text" },
    { key = "vision_config", standard = "siglip_vision_model", types = "siglip_vision_model",
        label = vision_label, suffix = "vision" },
} }
types.siglip2 = { parts = {
    { key = "text_config", standard = "siglip2_text_model", types = "siglip2_text_model",
        label = text_label, suffix = "text" },
    { key = "vision_config", standard = "siglip2_vision_model", types = "siglip2_vision_model",
        label = vision_label, suffix = "vision" },
} }
local siglip_part = { key = "vision_config", standard = "siglip_vision_model",
    types = "siglip_vision_model", label = "vision_config (siglip)", suffix = "vision" }
types.gemma3 = { parts = {
    { key = "text_config", standard = "gemma3_text", types = "gemma3_text" }, siglip_part,
} }
types.llava = { parts = {
    { key = "text_config", standard = "llama",
        types = "llama mistral qwen2 gemma gemma2 phi phi3" },
    { key = "vision_config", standard = "clip_vision_model",
        types = "clip_vision_model siglip_vision_model", label = vision_label, suffix = "vision" },
} }
types.llava_next, types.llava_onevision = types.llava, types.llava

-- The prefix, image and prompt, sees all of itself; what follows is causal.
local prefix = { causal = "prefix", mask = "bool",
    mask_text = "a prefix of image and prompt sees all of itself; what follows is causal" }
types.paligemma = { parts = {
    { key = "text_config", standard = "gemma", types = "gemma gemma2", facts = prefix },
    siglip_part,
} }

types.mllama_vision_model = with(vision, sized(1280, 16, 32, 5120), {
    norm_eps = facts.eps("norm_eps", 1e-5),
    -- the last layers, which see the tiles together
    variants = function(f)
        local first, layers = f.layers - f:read(size("num_global_layers", 8)), { {}, {} }
        for i = 0, f.layers - 1 do
            table.insert(layers[i < first and 1 or 2], i)
        end
        return {
            { layers = layers[1], suffix = "local", label = "local layers" },
            { layers = layers[2], suffix = "global", label = "global layers",
                facts = { layer_scale = "tanh of gate_attn and of gate_ffn, in every channel" } },
        }
    end,
    one_row = "-",
    heads = facts.heads "attention_heads num_attention_heads",
    layers = function(f)
        return f:read(must("num_hidden_layers", 32)) + f:read(size("num_global_layers", 8))
    end,
    qkv_bias = false,
    o_bias = false,
    -- every tile has its patches and a class token, up to a multiple of 8
    tokens = function(f)
        return (patches(448, 14, 1)(f) + 7) // 8 * 8 * f:read(size("max_num_tiles", 4))
    end,
    tokens_from = "image_size, patch_size and max_num_tiles",
    mask = "bool",
    mask_text = "tiles that the image does not fill, and padding",
})
types.mllama_text_model = with(modern,
    sized(4096, 32, 40, 14336, 131072, { kv_heads = 8, theta = 500000 }), {
        crossing = function(f)
            local given = f:read(list("cross_attention_layers", NONE, NONE))
                or { 3, 8, 13, 18, 23, 28, 33, 38 }
            local crossing = {}
            for _, i in ipairs(given) do
                if math.type(i) ~= "integer" or i < 0 or i >= f.layers then
                    f:refuse("cross_attention_layers", ("it takes layers from 0 to %d"):format(
                        f.layers - 1))
                end
                crossing[i] = true
            end
            return crossing
        end,
        components = {
            { label = "self", suffix = "self" },
            { label = "cross", suffix = "cross", causal = false, position = "none",
                layer_scale = "tanh of cross_attn_attn_gate and of cross_attn_mlp_gate, in every "
                    .. "channel",
                rope = function() end, mask = "bool",
                mask_text = "which image's tiles a position sees; one that sees none stays as it "
                    .. "is, and is not given to the block",
                qk_norm = qk_norm("rmsnorm", "head", "rms_norm_eps", 1e-5, { order = "no_rope" }) },
        },
    })
do
    local self, cross = table.unpack(types.mllama_text_model.components)
    local function those(crosses)
        return function(f)
            local layers = {}
            for i = 0, f.layers - 1 do
                if (f.crossing[i] or false) == crosses then
                    layers[#layers + 1] = i
                end
            end
            return { { layers = layers } }
        end
    end
    self.variants, cross.variants = those(false), those(true)
    cross.crosses = true
    -- the image's patches and class tokens, of all tiles
    cross.source_from = "one image; for more of them multiply cross.max_seq"
    cross.source_advice = "import the whole model's, which has the image's part, or put "
        .. "cross.max_seq into the spec"
    cross.source_tokens = function(f)
        local whole = f:reader().parent
        if whole then
            local image = facts.new(whole:part("vision_config"), { types.mllama_vision_model })
            return patches(448, 14, 1)(image) * image:read(size("max_num_tiles", 4))
        end
    end
    cross.source_width = fact "d_model"
end
types.mllama = { parts = {
    { key = "text_config", standard = "mllama_text_model", types = "mllama_text_model",
        label = text_label, suffix = "text" },
    { key = "vision_config", standard = "mllama_vision_model", types = "mllama_vision_model",
        label = vision_label, suffix = "vision" },
} }

-- ---- what no spec can say ----

local disentangled = "its disentangled attention adds scores by relative position to those by "
    .. "content, which attnc has no field for"
local recurrent = "it is not made of attention alone"
local two_axes = "the rotary positions of its image part have two axes, which attnc has no field "
    .. "for; its text_config can be imported as a file of its own"
local three_axes = "its rotary positions have three axes, which attnc has no field for"
for name, why in pairs {
    deberta = disentangled, ["deberta-v2"] = disentangled,
    xlnet = "its attention has relative positions that attnc has no field for",
    longformer = "its attention is sparse: global and local positions in one layer",
    big_bird = "its attention is sparse by blocks",
    mamba = recurrent, mamba2 = recurrent, rwkv = recurrent, jamba = recurrent,
    recurrent_gemma = recurrent, qwen3_next = recurrent, falcon_mamba = recurrent,
    falcon_h1 = recurrent, bamba = recurrent, zamba = recurrent, zamba2 = recurrent,
    granitemoehybrid = recurrent, lfm2 = recurrent, nemotron_h = recurrent,
    qwen2_vl = three_axes, qwen2_5_vl = three_axes, qwen2_vl_text = three_axes,
    qwen2_5_vl_text = three_axes, qwen3_vl = three_axes, qwen3_vl_text = three_axes,
    qwen3_vl_moe = three_axes, qwen3_vl_moe_text = three_axes, qwen2_5_omni = three_axes,
    mistral3 = two_axes, pixtral = two_axes,
    wavlm = "its relative positions are gated by the input, which attnc has no field for",
    led = "its attention is sparse: global and local positions in one layer",
    llama4_text = "its chunked layers see blocks of positions, which attnc has no field for",
    llama4 = "its chunked layers see blocks of positions, which attnc has no field for",
    blip = "whether its text part is causal depends on the task, not on the config",
} do
    models.refused[name] = why
end

-- Shape and positions stand in lines of their own; name and isa are in the file.
models.shown = { name = true, isa = true, d_model = true, heads = true, kv_heads = true,
    head_dim = true, v_head_dim = true, seq = true, max_seq = true }

return models
