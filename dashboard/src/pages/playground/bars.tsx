import { BINS } from './traffic.ts'

/** The drawings have a width of one unit for each bin, and this height. */
export const HEIGHT = 100

/** barsPath draws a bar for each bin, from one height to another, as one path. Heights are shares of the whole. */
export function barsPath(from: (bin: number) => number, to: (bin: number) => number): string {
  let path = ''
  for (let bin = 0; bin < BINS; bin++) {
    const [low, high] = [from(bin), to(bin)]
    if (high <= low) continue
    const [top, bottom] = [HEIGHT * (1 - high), HEIGHT * (1 - low)]
    path += `M${bin + 0.08} ${round(bottom)}V${round(top)}h.84V${round(bottom)}z`
  }
  return path
}

const round = (value: number): number => Math.round(value * 100) / 100

/** Bars draws what was admitted, and what was refused on top of it. */
export function Bars(props: {
  readonly admitted: readonly number[]
  readonly refused: readonly number[]
  readonly most: number
  /** How much of the height the steady rate of the limit is. */
  readonly pace: number
  readonly label: string
}) {
  const { admitted, refused, most, pace, label } = props
  const share = (count: number): number => Math.min(1, count / most)
  return (
    <svg class="bars" viewBox={`0 0 ${BINS} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <Grid />
      <path
        class="admitted"
        d={barsPath(
          () => 0,
          (bin) => share(admitted[bin]),
        )}
      />
      <path
        class="refused"
        d={barsPath(
          (bin) => share(admitted[bin]),
          (bin) => share(admitted[bin] + refused[bin]),
        )}
      />
      {pace < 1 && <line class="pace" x1={0} x2={BINS} y1={HEIGHT * (1 - pace)} y2={HEIGHT * (1 - pace)} />}
    </svg>
  )
}

const TENS = [1, 2, 3, 4, 5]

/** Grid is a line every ten seconds. */
export function Grid() {
  return (
    <>
      {TENS.map((ten) => (
        <line key={ten} class="grid-line" x1={(ten * BINS) / 6} x2={(ten * BINS) / 6} y1={0} y2={HEIGHT} />
      ))}
    </>
  )
}
