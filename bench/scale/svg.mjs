// Writes SVG as text: a figure with a title for screen readers, in colours for light and dark.

const SHEET = { light: '#ffffff', dark: '#0d1117' }
const TEXT = { light: '#1f2328', dark: '#f0f6fc' }
const SOFT = { light: '#59636e', dark: '#9198a1' }
const GRID = { light: '#d8dee4', dark: '#30363d' }
const LIMIT = { light: '#cf222e', dark: '#ff7b72' }
const INKS = {
  exact: { light: '#6e7781', dark: '#9198a1' },
  leased: { light: '#0969da', dark: '#58a6ff' },
  eventual: { light: '#bc4c00', dark: '#f0883e' },
  few: { light: '#1a7f37', dark: '#3fb950' },
  some: { light: '#0969da', dark: '#58a6ff' },
  many: { light: '#8250df', dark: '#bc8cff' },
}

/** Writes the colours of a theme. Variables would be shorter, but not every viewer knows them. */
const coloursOf = (theme) =>
  [
    `.sheet { fill: ${SHEET[theme]}; stroke: ${GRID[theme]} }`,
    `text { fill: ${TEXT[theme]} }`,
    `.soft { fill: ${SOFT[theme]} }`,
    `.grid { stroke: ${GRID[theme]} }`,
    `line.limit { stroke: ${LIMIT[theme]} } text.limit { fill: ${LIMIT[theme]} }`,
    ...Object.entries(INKS).map(
      ([name, ink]) => `.fill.${name} { fill: ${ink[theme]} } .stroke.${name} { stroke: ${ink[theme]} }`,
    ),
  ].join('\n')

const STYLE = `
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif }
.head { font-size: 15px; font-weight: 600 }
.strong { font-weight: 600 }
.stroke { fill: none; stroke-width: 2; stroke-linejoin: round }
line.limit { stroke-width: 1.5; stroke-dasharray: 6 4 }
${coloursOf('light')}
@media (prefers-color-scheme: dark) {
${coloursOf('dark')}
}`

/** Makes text safe between tags and in attributes. */
const escaped = (text) => `${text}`.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;')

/** Formats a coordinate in as few characters as the eye needs. */
const round = (value) => `${Math.round(value * 10) / 10}`

/** The whole document. */
export function figure({ width, height, title, about }, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title about">
<title id="title">${escaped(title)}</title>
<desc id="about">${escaped(about)}</desc>
<style>${STYLE}
</style>
<rect class="sheet" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
${parts.flat(9).join('\n')}
</svg>
`
}

export function text(x, y, content, { anchor = 'start', kind = '' } = {}) {
  const attributes = `${kind && ` class="${kind}"`}${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}`
  return `<text x="${round(x)}" y="${round(y)}"${attributes}>${escaped(content)}</text>`
}

export function line(from, to, kind) {
  return `<line class="${kind}" x1="${round(from[0])}" y1="${round(from[1])}" x2="${round(to[0])}" y2="${round(to[1])}"/>`
}

export function bar(x, y, [width, height], kind) {
  return `<rect class="fill ${kind}" x="${round(x)}" y="${round(y)}" width="${round(Math.max(width, 1))}" height="${round(height)}" rx="1.5"/>`
}

/** Joins points by straight lines. */
export function curve(points, kind) {
  const steps = points.map(([x, y]) => `${round(x)},${round(y)}`)
  return `<polyline class="stroke ${kind}" points="${steps.join(' ')}"/>`
}

export function dot([x, y], kind) {
  return `<circle class="fill ${kind}" cx="${round(x)}" cy="${round(y)}" r="2.5"/>`
}

/** Maps a range of values to a range of pixels. */
export function scale([from, to], [start, end]) {
  return (value) => start + ((value - from) / (to - from)) * (end - start)
}

export function logScale([from, to], pixels) {
  const linear = scale([Math.log(from), Math.log(to)], pixels)
  return (value) => linear(Math.log(value))
}
