import { readFileSync } from 'node:fs'

const read = (name) => readFileSync(new URL(`../deploy/prometheus/${name}`, import.meta.url), 'utf8')

/** Returns the blocks of a rule file, by the names that follow `word`. */
function blocksOf(text, word) {
  const [, ...blocks] = text.split(new RegExp(`^ *- ${word}: `, 'm'))
  return blocks.map((block) => [block.slice(0, block.indexOf('\n')).trim(), block])
}

/** Returns the alerts that look at a family of metrics, by itself or by a recorded rule; `down` is a silent node. */
export function alertsOn(family) {
  const recorded = blocksOf(read('rules.yml'), 'record')
  const names = new Set([family === 'down' ? 'up{' : family])
  for (let size = 0; size !== names.size; ) {
    size = names.size
    for (const [name, block] of recorded) if ([...names].some((each) => block.includes(each))) names.add(name)
  }
  const alerts = blocksOf(read('alerts.yml'), 'alert')
  return alerts.filter(([, block]) => [...names].some((each) => block.includes(each))).map(([name]) => name)
}
