// The inputs that ONNX Runtime is given: random numbers that any other program can repeat (docs/INPUTS.md), or a
// constant (--fill), of the model's shapes or those that options give to its free dimensions.
//
// The inputs, exactly
//   Input number i (from 0, in the order of the model's inputs) has its own generator, Marsaglia's
//   xorshift32.  All arithmetic is on unsigned 32-bit numbers:
//     state = seed XOR ((i + 1) * 0x9E3779B9 mod 2^32); if state is 0, state = 0x6D2B79F5
//     next(): state ^= state << 13; state ^= state >> 17; state ^= state << 5; return state
//   Eight values are drawn and thrown away; then each element, in row-major order, takes one x:
//     float32, float64   (x >> 8) / 2^23 - 1            in [-1, 1), exact in float32
//     float16            (x >> 21) / 2^10 - 1           in [-1, 1), exact in float16
//     int64 int32 uint64 uint32 int16 uint16            (x >> 8) mod K
//                        K is --int-max, or 2 if the input's name contains "mask" or "type"
//                        (in lower case), or 100
//     uint8              x >> 24      int8  (x >> 24) - 128      bool  x >> 31
//   With --seed 1 the first four float32 elements of input 0 are
//     0.7442206144332886, -0.8082752227783203, 0.038350462913513184, 0.2501295804977417
//   (checked at each start).

function xorshift32(seed, index) {
  let s = (seed ^ Math.imul(index + 1, 0x9E3779B9)) >>> 0;
  if (s === 0) s = 0x6D2B79F5;
  const next = () => {
    s ^= s << 13; s >>>= 0;
    s ^= s >>> 17;
    s ^= s << 5; s >>>= 0;
    return s;
  };
  for (let i = 0; i < 8; i++) next();
  return next;
}

const GOLDEN = [0.7442206144332886, -0.8082752227783203, 0.038350462913513184, 0.2501295804977417];

export function checkGenerator() {
  const next = xorshift32(1, 0);
  for (const want of GOLDEN) {
    const got = (next() >>> 8) / 8388608 - 1;
    if (got !== want) throw new Error(`the input generator is broken: ${got}, not ${want}`);
  }
}

// The bits of a float16 whose value is exactly representable in one.
function halfBits(v) {
  if (v === 0) return 0;
  const sign = v < 0 ? 0x8000 : 0;
  let a = Math.abs(v), e = 15;
  while (a >= 2) { a /= 2; e++; }
  while (a < 1) { a *= 2; e--; }
  if (e > 30) return sign | 0x7C00;
  if (e < 1) return sign | Math.round(a * 2 ** (e - 1) * 1024);
  return sign | (e << 10) | Math.round((a - 1) * 1024);
}

// The value of a float16's bits.
export function fromHalf(h) {
  const sign = h & 0x8000 ? -1 : 1, e = (h >> 10) & 31, m = h & 1023;
  if (e === 0) return sign * m * 2 ** -24;
  if (e === 31) return m ? NaN : sign * Infinity;
  return sign * (1 + m / 1024) * 2 ** (e - 15);
}

function makeInput(lib, meta, index, o) {
  const { name, type } = meta;
  const shape = o.shapes[name] ?? meta.shape.map((d) => (typeof d === 'number' ? d : o.dims[d] ?? 1));
  const size = shape.reduce((a, b) => a * b, 1);
  const next = xorshift32(o.seed, index);
  const lower = name.toLowerCase();
  const k = o.intMax[name] ?? (lower.includes('mask') || lower.includes('type') ? 2 : 100);
  const integer = () => (next() >>> 8) % k;
  const kinds = {
    float32: [Float32Array, () => (next() >>> 8) / 8388608 - 1],
    float64: [Float64Array, () => (next() >>> 8) / 8388608 - 1],
    float16: [Uint16Array, () => halfBits((next() >>> 21) / 1024 - 1)],
    int64: [BigInt64Array, () => BigInt(integer())],
    uint64: [BigUint64Array, () => BigInt(integer())],
    int32: [Int32Array, integer],
    uint32: [Uint32Array, integer],
    int16: [Int16Array, integer],
    uint16: [Uint16Array, integer],
    int8: [Int8Array, () => (next() >>> 24) - 128],
    uint8: [Uint8Array, () => next() >>> 24],
    bool: [Uint8Array, () => next() >>> 31],
  };
  if (!kinds[type]) throw new Error(`input ${name}: no random values for type ${type}`);
  const [Kind, draw] = kinds[type];
  const data = new Kind(size);
  if (name in o.fills) {
    const v = o.fills[name];
    data.fill(Kind === BigInt64Array || Kind === BigUint64Array ? BigInt(v)
      : type === 'float16' ? halfBits(v) : v);
  } else {
    for (let i = 0; i < size; i++) data[i] = draw();
  }
  return new lib.ort.Tensor(type, data, shape);
}

export function makeFeeds(lib, session, o) {
  const feeds = {};
  session.inputs.forEach((meta, i) => {
    if (!meta.isTensor) throw new Error(`input ${meta.name} is not a tensor`);
    feeds[meta.name] = makeInput(lib, meta, i, o);
  });
  return feeds;
}
