--- ln and exp by series, with +, -, * and / alone: a constant depends on no platform's libm.
--
-- series.ln(x), of x > 0; series.exp(x): at most a few units in the 16th digit, far below what a
-- rope's angle needs.
-- series.LN_2
local series = { LN_2 = 0.69314718055994530942 }

function series.ln(x)
    local exponent = 0
    while x > 1.5 do
        x, exponent = x / 2, exponent + 1
    end
    while x < 0.75 do
        x, exponent = x * 2, exponent - 1
    end
    local t = (x - 1) / (x + 1)
    local sum, power = 0.0, t
    for k = 1, 61, 2 do
        sum, power = sum + power / k, power * t * t
    end
    return 2 * sum + exponent * series.LN_2
end

function series.exp(x)
    local halvings = 0
    while math.abs(x) > 0.5 do
        x, halvings = x / 2, halvings + 1
    end
    local sum, term = 1.0, 1.0
    for k = 1, 24 do
        term = term * x / k
        sum = sum + term
    end
    for _ = 1, halvings do
        sum = sum * sum
    end
    return sum
end

return series
