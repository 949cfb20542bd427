// The steps of traced arrays (arrays/javascript.py): each makes an array of n numbers, with `new make`, of others or of single numbers.

const S = (() => {
  const NOT = Number.isNaN;
  // Numbers of two parts, of 106 digits: a power is rounded once, as C rounds it in all but few cases; the browser's is not.
  const sum = (a, b) => { const s = a + b, t = s - a; return [s, (a - (s - t)) + (b - t)]; };
  const split = (a) => { const c = 134217729 * a, high = c - (c - a); return [high, a - high]; };
  const times = ([a, al], [b, bl]) => {
    const p = a * b, [ah, at] = split(a), [bh, bt] = split(b);
    return sum(p, ((ah * bh - p) + ah * bt + at * bh) + at * bt + (a * bl + al * b));
  };
  const plus = ([a, al], [b, bl]) => { const [s, t] = sum(a, b); return sum(s, t + al + bl); };
  const over = ([a, al], n) => { const q = a / n, [p, e] = times([q, 0], [n, 0]); return sum(q, ((a - p) - e + al) / n); };
  const LN2 = [0.6931471805599453, 2.3190468138462996e-17];
  const raised = (r) => {  // exp, and the power of two beside it
    const k = Math.round(r[0] / LN2[0]), rest = plus(r, times(LN2, [-k, 0]));
    let found = [1, 0];
    for (let n = 24; n; n -= 1) found = plus([1, 0], over(times(rest, found), n));
    return [found, k];
  };
  const raise = (x, y) => {
    if (!(x > 0) || !Number.isFinite(x) || !Number.isFinite(y) || !y) return x ** y;
    const near = Math.log(x), [[a, b], k] = raised([-near, 0]), off = plus(times([x, 0], [a * 2 ** k, b * 2 ** k]), [-1, 0]);
    const [[p, q], n] = raised(times([y, 0], plus([near, 0], plus(off, over(times(off, off), -2)))));
    return Math.abs(n) > 1000 ? x ** y : (p + q) * 2 ** n;
  };
  const rint = (x) => { const a = Math.abs(x), r = a < 2 ** 52 ? a + 2 ** 52 - 2 ** 52 : a; return x < 0 || Object.is(x, -0) ? -r : r; };
  const mod = (a, b) => { const m = a % b; return m ? ((b < 0) !== (m < 0) ? m + b : m) : m === 0 ? (b < 0 ? -0 : 0) : m; };
  const down = (a, b) => { const m = mod(a, b); return b ? rint((a - m) / b) : a / b; };
  const low = (a, b) => (NOT(a) || a < b ? a : b), high = (a, b) => (NOT(a) || a > b ? a : b);
  // The power of two at or below a number, from its exponent: 0 for subnormal numbers, infinite for those that are not finite.
  const bits = new DataView(new ArrayBuffer(8));
  const power = (x) => {
    bits.setFloat64(0, x);
    bits.setUint32(0, bits.getUint32(0) & 0x7ff00000);
    bits.setUint32(4, 0);
    return bits.getFloat64(0);
  };
  const spacing = (x, p, least) => high(power(x), least) * 2 ** (1 - p);
  const settle = (x, p, least, largest) => {
    if (!Number.isFinite(x)) return x;
    const step = spacing(x, p, least), r = rint(x / step) * step;
    return Math.abs(r) > largest ? Math.sign(r) * Infinity : r;
  };
  const erf = (x) => {  // 2 / sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...), of terms of one sign; it is 1 in float64 beyond 6
    if (!(Math.abs(x) < 6)) return NOT(x) ? x : Math.sign(x);
    let term = x, total = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(total); n += 1) total += term *= 2 * x * x / (2 * n + 1);
    return 1.1283791670955126 * Math.exp(-x * x) * total;
  };
  // Each is written out as a loop of its own for each kind of arguments, which the browser makes fast: one for all would stay slow.
  const elementwise = {
    add: "x+y", subtract: "x-y", multiply: "x*y", divide: "x/y", floor_divide: "down(x,y)", remainder: "mod(x,y)", pow: "y===2?x*x:raise(x,y)",
    negative: "-x", abs: "Math.abs(x)", sqrt: "Math.sqrt(x)", exp: "Math.exp(x)", log: "Math.log(x)", log10: "Math.log10(x)",
    expm1: "Math.expm1(x)", log1p: "Math.log1p(x)", tanh: "Math.tanh(x)", erf: "erf(x)",
    cos: "Math.cos(x)", sin: "Math.sin(x)", hypot: "Math.hypot(x,y)", floor: "Math.floor(x)", ceil: "Math.ceil(x)",
    trunc: "Math.trunc(x)", round: "rint(x)", minimum: "low(x,y)", maximum: "high(x,y)", equal: "x===y", not_equal: "x!==y",
    less: "x<y", less_equal: "x<=y", greater: "x>y", greater_equal: "x>=y", logical_and: "x&&y", logical_or: "x||y", logical_not: "!x",
    isnan: "x!==x", isfinite: "Number.isFinite(x)", where: "x?y:z", copy: "x", whole: "Math.trunc(x)", round_to: "settle(x,y,z,d)",
    ulp: "Number.isFinite(x)?spacing(x,y,z):NaN",
  };
  const helpers = { raise, erf, rint, mod, down, low, high, settle, spacing }, made = {};
  const isList = (one) => typeof one === "object", single = (one) => (isList(one) && one.length === 1 ? one[0] : one);
  const kind = (one) => (isList(one) ? one.BYTES_PER_ELEMENT ?? 2 : 0);
  // Where a step writes: into the array that it made before last, or into a new one.
  let sites = null, at = 0, spare = null;
  const arrayFor = (make, n) => spare ?? new make(n);
  const written = (step, ...listed) => new Function(...Object.keys(helpers), `return (out, n, a, b, c, d) => {
    for (let at = 0; at < n; at += 1) {
      const ${listed.map((list, k) => `${"xyz"[k]} = ${"abc"[k]}${list ? "[at]" : ""}`)};
      out[at] = ${step};
    }
  }`)(...Object.values(helpers));
  for (const [name, step] of Object.entries(elementwise)) {
    const loops = [];
    made[name] = (make, n, x, y = 0, z = 0, d = 0) => {
      const a = single(x), b = single(y), c = single(z), [p, q, r] = [kind(a), kind(b), kind(c)], out = arrayFor(make, n);
      (loops[make.BYTES_PER_ELEMENT + 9 * (p + 9 * (q + 9 * r))] ??= written(step, p, q, r))(out, n, a, b, c, d);
      return out;
    };
  }
  const tree = (a, at, step, n) => {  // neighbours first, as arrays/sums.py adds
    if (n < 3) return n === 2 ? a[at] + a[at + step] : n ? a[at] : 0;
    let p = 1;
    while (2 * p < n) p *= 2;
    return tree(a, at, step, p) + tree(a, at + p * step, step, n - p);
  };
  const reduced = (one) => (make, n, a, many) => {
    const out = arrayFor(make, n);
    for (let k = 0; k < n; k += 1) out[k] = one(a, k, n, many);
    return out;
  };
  const folded = (join) => reduced((a, k, n, many) => {
    let found = a[k];
    for (let row = 1; row < many; row += 1) found = join(found, a[k + row * n]);
    return found;
  });
  Object.assign(made, {
    tree: reduced(tree), most: folded(high), least: folded(low), any: folded((a, b) => a || b), all: folded((a, b) => a && b),
    where_most: reduced((a, k, n, many) => {
      let best = 0;
      for (let row = 1; row < many; row += 1) if (!NOT(a[k + best * n]) && !(a[k + row * n] <= a[k + best * n])) best = row;
      return best;
    }),
    pick(make, n, a, places) {
      const out = arrayFor(make, n);
      for (let k = 0; k < n; k += 1) out[k] = a[n === 1 ? places : places[k]];
      return out;
    },
    view(make, n, a, first, lengths, strides) {
      const out = arrayFor(make, n), last = lengths.length - 1;
      let at = 0;
      const along = (axis, start) => {
        const step = strides[axis];
        let from = start;
        if (axis < last) for (let k = lengths[axis]; k; from += step, k -= 1) along(axis + 1, from);
        else for (let k = lengths[axis]; k; from += step, k -= 1) out[at++] = a[from];
      };
      if (n === 1 || !isList(a)) out.fill(isList(a) ? a[first] : a);
      else along(0, first);
      return out;
    },
    concat(make, n, outer, ...parts) {
      const out = arrayFor(make, n), lists = parts.map((part) => (typeof part === "object" ? part : [part]));
      let at = 0;
      for (let k = 0; k < outer; k += 1) {
        for (const part of lists) {
          const long = part.length / outer;
          for (let j = 0; j < long; j += 1) out[at + j] = part[k * long + j];
          at += long;
        }
      }
      return out;
    },
    take(make, n, a, index, length, inner) {
      const out = arrayFor(make, n), places = typeof index === "object" ? index : [index], outer = n / places.length / inner;
      let at = 0;
      for (let k = 0; k < outer; k += 1) {
        for (const place of places) {
          const from = (k * length + (place < 0 ? place + length : place)) * inner;
          for (let j = 0; j < inner; j += 1) out[at + j] = a[from + j];
          at += inner;
        }
      }
      return out;
    },
    scatter(make, n, target, columns, index, values) {
      const added = new Float64Array(n), count = index.length, rows = n / columns;
      for (let row = 0; row < rows; row += 1) {
        for (let k = 0; k < count; k += 1) added[row * columns + index[k]] += typeof values === "object" ? values[row * count + k] : values;
      }
      return made.add(make, n, target, added);
    },
    argsort(make, n, a) {
      const order = Array.from({ length: n }, (_, k) => k);
      return make.from(order.sort((i, j) => (NOT(a[i]) ? (NOT(a[j]) ? i - j : 1) : NOT(a[j]) ? -1 : a[i] - a[j] || i - j)));
    },
  });
  // A function takes the same steps at every call. One whose arguments are those of the last call is not taken again; any
  // other makes another array than in the last call, so that the steps behind it see the change. A list that is written
  // out is the same.
  const same = (given, before) => {
    for (let k = 0; k < given.length; k += 1) if (!Object.is(given[k], before[k]) && !Array.isArray(given[k])) return false;
    return true;
  };
  const S = { run(one, given) {
    [sites, at, one.sites] = [one.sites ?? [], 0, null];  // a call that fails leaves none
    try {
      const found = one(given);
      one.sites = sites;
      return found;
    } finally { sites = spare = null; }
  } };
  for (const [name, step] of Object.entries(made)) {
    S[name] = (make, n, ...given) => {
      if (!sites) return step(make, n, ...given);
      const site = sites[at] ??= { given: null, made: null, before: null };
      at += 1;
      if (site.given && same(given, site.given)) return site.made;
      spare = site.before;
      const found = step(make, n, ...given);
      spare = null;
      site.given = given;
      site.before = site.made;
      return (site.made = found);
    };
  }
  return S;
})();
