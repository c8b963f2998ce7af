// @ts-check
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import { requireCommand } from '../../scripts/system-packages.mjs'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// What runs in the page is text here: the types of browsers are not those of this program.
const TELL_VIOLATIONS = `
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
  console.error('policy: ' + violatedDirective + ' forbids ' + blockedURI + ' in ' + sourceFile)
})`
/** @type {(only: string) => string} */
const runAxe = (only) => `
axe.run(document, { resultTypes: ['violations'], ${only} }).then(({ violations }) =>
  violations
    .filter(({ impact }) => impact !== 'minor')
    .map(({ id, impact, nodes }) => {
      const [{ target, failureSummary }] = nodes
      return impact + ' ' + id + ' (' + nodes.length + '): ' + target.join(' ') + ': ' + failureSummary
    }),
)`
const EVERY_RULE = runAxe('')
const RULES_OF_COLOUR = runAxe(`runOnly: ['color-contrast', 'link-in-text-block']`)

/** Starts Debian's Chromium. It has no sandbox of its own where it is root, as in a container. */
export function openBrowser() {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: requireCommand('chromium'), args: [...args, '--disable-gpu'] })
}

/**
 * @typedef {object} VisitOptions
 * @property {string} base the address of the admin port
 * @property {string} [token] to log in with
 * @property {'light' | 'dark'} [scheme]
 * @property {number} [width]
 * @property {number} [height]
 */

/** A Visit is one browser window with a session of its own. It notes what goes wrong in it. */
export class Visit {
  /** @type {string[]} */
  #complaints = []
  /** Texts of complaints that a test has provoked. */
  #expected = /** @type {RegExp[]} */ ([])

  /**
   * @param {import('playwright-core').BrowserContext} context
   * @param {import('playwright-core').Page} page
   */
  constructor(context, page) {
    this.context = context
    this.page = page
    page.on('console', (message) => {
      if (message.type() === 'error') this.#complain(`console: ${message.text()} (${message.location().url})`)
    })
    page.on('pageerror', (error) => this.#complain(`error: ${error.stack ?? error.message}`))
    page.on('dialog', (dialog) => {
      this.#complain(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
  }

  /**
   * @param {import('playwright-core').Browser} browser
   * @param {VisitOptions} options
   */
  static async open(browser, { base, token, scheme = 'light', width = 1440, height = 900 }) {
    const context = await browser.newContext({
      baseURL: base,
      viewport: { width, height },
      // Scroll bars of phones take no room.
      isMobile: width < 600,
      colorScheme: scheme,
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
    })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    const visit = new Visit(context, page)
    // A violation of the policy is told to the console, too; here with what broke it.
    await page.addInitScript({ content: TELL_VIOLATIONS })
    if (token !== undefined)
      await context.request.post('/admin/v1/session', { data: { token }, headers: { origin: base } })
    return visit
  }

  /** @param {string} text */
  #complain(text) {
    if (!this.#expected.some((pattern) => pattern.test(text))) this.#complaints.push(text)
  }

  /**
   * Has later complaints of a kind left out: those that a test provokes.
   * @param {RegExp} pattern
   */
  expectComplaints(pattern) {
    this.#expected.push(pattern)
  }

  /** complaints are errors of the console, of scripts and of the policy, since the last look. */
  complaints() {
    return this.#complaints.splice(0)
  }

  /** @param {string} path */
  async go(path) {
    await this.page.goto(path)
    await this.settled()
  }

  /** Resolves when the page has its title and nothing is loading. */
  async settled() {
    await this.page.locator('main h1, main .state').first().waitFor()
    await this.page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  }

  /**
   * Returns the findings of axe on the page as it is that are moderate or worse, a line for each rule.
   * @param {{ isColourOnly?: boolean }} [options] where another theme is all that has changed
   * @returns {Promise<string[]>}
   */
  async axe({ isColourOnly = false } = {}) {
    const { page } = this
    if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(AXE)
    return page.evaluate(isColourOnly ? RULES_OF_COLOUR : EVERY_RULE)
  }

  /**
   * How many pixels the page is wider than the window.
   * @returns {Promise<number>}
   */
  sideways() {
    return this.page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  }

  /**
   * The parts of names that are on more than one line.
   * @returns {Promise<string[]>}
   */
  brokenWords() {
    return this.page.evaluate(BROKEN_WORDS)
  }

  async close() {
    await this.context.close()
  }
}

const BROKEN_WORDS = `[...document.querySelectorAll('.name')]
  .flatMap((name) => [...name.childNodes])
  .filter((part) => {
    const range = document.createRange()
    range.selectNode(part)
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1
  })
  .map(({ textContent }) => textContent)`
