import { curve, figure, line, scale, text } from '../scale/svg.mjs'
import { CLASSES } from './classes.mjs'
import { BIN_MS } from './judge.mjs'

const INKS = ['few', 'some', 'many', 'eventual']
const [LEFT, RIGHT, WIDTH] = [64, 640, 760]

/**
 * drawn shows, over time, the share of each class that was served, and how long critical requests took with and
 * without.
 */
export function drawn(shed, bare, { totalMs, overload, capacity }) {
  const x = scale([0, totalMs], [LEFT, RIGHT])
  const at = ({ fromMs }) => x(fromMs + BIN_MS / 2)
  const [top, middle] = [96, 260]
  const share = scale([0, 1], [middle, top])
  const [from, bottom] = [340, 480]
  const ms = scale([0, 2_000], [bottom, from])
  const phases = overload.map((edge) => line([x(edge), top - 10], [x(edge), bottom], 'grid'))
  const seconds = Array.from({ length: Math.floor(totalMs / 5_000) + 1 }, (_, i) =>
    text(x(i * 5_000), bottom + 20, `${i * 5} s`, { anchor: 'middle', kind: 'soft' }),
  )
  const shares = [0, 0.5, 1].map((value) => [
    line([LEFT, share(value)], [RIGHT, share(value)], 'grid'),
    text(LEFT - 8, share(value) + 4, `${100 * value} %`, { anchor: 'end', kind: 'soft' }),
  ])
  const times = [0, 1_000, 2_000].map((value) => [
    line([LEFT, ms(value)], [RIGHT, ms(value)], 'grid'),
    text(LEFT - 8, ms(value) + 4, `${value} ms`, { anchor: 'end', kind: 'soft' }),
  ])
  const served = CLASSES.map(({ name }, kind) => [
    curve(
      shed.bins.map((bin) => [at(bin), share(bin.classes[kind].served)]),
      INKS[kind],
    ),
    text(RIGHT + 12, top + 12 + 22 * kind, name, { kind: `strong fill ${INKS[kind]}` }),
  ])
  const p99 = ({ bins }) =>
    bins.filter(({ classes }) => classes[0].count > 0).map((bin) => [at(bin), ms(Math.min(2_000, bin.classes[0].p99))])
  const rows = [
    ['adaptive', 'few', shed],
    ['without', 'exact', bare],
  ].map(([name, ink, run], i) => [
    curve(p99(run), ink),
    text(RIGHT + 12, from + 12 + 40 * i, name, { kind: `strong fill ${ink}` }),
    text(RIGHT + 12, from + 29 + 40 * i, `${(100 * run.during[0].served).toFixed(1)} % served`, { kind: 'soft' }),
  ])
  const about = CLASSES.map(
    ({ name }, kind) => `${name}: ${(100 * shed.during[kind].served).toFixed(1)} % served`,
  ).join('; ')
  return figure({ width: WIDTH, height: 520, title: 'An upstream that is offered four times its capacity', about }, [
    text(
      20,
      32,
      `Four times what the upstream can serve (${capacity} a second), for ${(overload[1] - overload[0]) / 1_000} s`,
      {
        kind: 'head',
      },
    ),
    text(20, 54, 'served, of each class', { kind: 'soft' }),
    text(x((overload[0] + overload[1]) / 2), top - 16, '4 ×', { anchor: 'middle', kind: 'soft' }),
    shares,
    served,
    text(20, from - 24, 'p99 of critical requests that were served', { kind: 'soft' }),
    times,
    rows,
    phases,
    seconds,
  ])
}
