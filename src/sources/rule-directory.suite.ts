import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A directory of rule files that lasts as long as the test that made it. */
export class RuleDirectory {
  readonly path: string

  constructor(files: Record<string, string> = {}) {
    const home = mkdtempSync(join(tmpdir(), 'sluice-rules-'))
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    this.path = join(home, 'rules')
    mkdirSync(this.path)
    for (const [name, text] of Object.entries(files)) this.write(name, text)
  }

  /** Returns the path of a file. */
  at(name: string): string {
    return join(this.path, name)
  }

  /** Writes a file in place, and the directories that it needs. */
  write(name: string, text: string | Uint8Array): void {
    mkdirSync(dirname(this.at(name)), { recursive: true })
    writeFileSync(this.at(name), text)
  }

  /** Puts a new file in the place of an old one, in one step, as editors and deployment tools do. */
  replace(name: string, text: string): void {
    this.write('.draft', text)
    renameSync(this.at('.draft'), this.at(name))
  }

  remove(name = ''): void {
    rmSync(this.at(name), { recursive: true })
  }

  link(name: string, target: string): void {
    symlinkSync(target, this.at(name))
  }

  /**
   * Writes a version of a ConfigMap as the kubelet does: the files in a directory named after the time, `..data` a link
   * to it that is swapped by a rename, and a link through `..data` for each file.
   */
  mount(version: string, files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) this.write(`..${version}/${name}`, text)
    this.link('..data_tmp', `..${version}`)
    renameSync(this.at('..data_tmp'), this.at('..data'))
    for (const name of Object.keys(files)) {
      this.link('.link', `..data/${name}`)
      renameSync(this.at('.link'), this.at(name))
    }
  }
}

/**
 * Returns a rule file with one limit for each value of `user`: of a day, so that no test meets the edge of a window.
 */
export function ruleText(requests: number, domain = 'api'): string {
  return `domain: ${domain}\ndescriptors:\n  - key: user\n    rate_limit: { unit: day, requests_per_unit: ${requests} }\n`
}

/** Like ruleText with so many more descriptors: 200 are more than are loaded at once. */
export function longRuleText(requests: number, more = 200): string {
  const lines = Array.from(
    { length: more },
    (_, i) => `  - { key: path, value: "/${i}/*", rate_limit: { unlimited: true } }\n`,
  )
  return ruleText(requests) + lines.join('')
}
