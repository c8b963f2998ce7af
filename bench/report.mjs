import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'

/** Returns the middle value, or the mean of the two in the middle; of none, NaN. */
export function median(values) {
  const sorted = Float64Array.from(values).sort()
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Returns how far the values lie apart, as half their range in percent of the median. */
export function spread(values) {
  return (50 * (Math.max(...values) - Math.min(...values))) / median(values)
}

/** Returns the lines that say what was measured where: without them a figure means nothing. */
export function header(command, packages) {
  const [cpu] = cpus()
  const memoryGib = totalmem() / 2 ** 30
  const versions = packages.map((name) => `${name} ${versionOf(name)}`)
  return [
    `command   ${command}`,
    `date      ${new Date().toISOString().slice(0, 10)}`,
    `machine   ${cpu.model.trim()}, ${availableParallelism()} cores, ${memoryGib.toFixed(0)} GiB, ${process.platform} ${process.arch}`,
    `load      ${loadavg()[0].toFixed(2)} at the start: more than 0.5 means that others were using the machine`,
    `versions  Node.js ${process.versions.node}, ${versions.join(', ')}`,
  ].join('\n')
}

function versionOf(name) {
  const path = name === 'sluice' ? '../package.json' : `../node_modules/${name}/package.json`
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')).version
}

/**
 * Lays rows out in columns as Markdown, so that it reads well in a terminal and in a document. A number that there is
 * none of, because no round was valid, reads "void".
 */
export function table(head, rows) {
  const format = (cell) => (/NaN|Infinity|∞/.test(cell) ? 'void' : String(cell))
  const lines = [head, ...rows].map((row) => row.map(format))
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const pad = (cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))
  const render = (line) => `| ${line.map(pad).join(' | ')} |`
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [render(lines[0]), render(rule), ...lines.slice(1).map(render)].join('\n')
}

/** Says how many times faster we are than a peer, and whether that is the budget (if there is one). */
export function ratioLine(what, ratio, budget) {
  const line = `ratio ${what}: ${ratio.toFixed(1)} ×`
  return budget === undefined ? line : `${line} (budget ${budget} ×: ${ratio >= budget ? 'met' : 'missed'})`
}

/** Formats a whole number with separators. */
export const count = (value) => Math.round(value).toLocaleString('en-US')

/** Formats a rate: 1234567 is "1.23 M". */
export const million = (value) => `${(value / 1e6).toFixed(2)} M`
