import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { Application } from 'typedoc'
import { SetupError } from '../scripts/setup.mjs'
import { MODULES } from './pages.mjs'
import { tidyPage } from './tidy.mjs'

/** writeReference writes a page for every module that users import, made of its types and their comments. */
export async function writeReference(root, into) {
  const app = await Application.bootstrapWithPlugins({
    ...FORM,
    entryPoints: [...MODULES.values()].map((source) => join(root, source)),
    tsconfig: join(root, 'site', 'tsconfig.json'),
    outputs: [{ name: 'markdown', path: into }],
  })
  const project = await app.convert()
  if (project === undefined) throw new SetupError('the reference could not be made of the types')
  // typedoc calls a module by its path.
  const names = new Map([...MODULES].map(([name, source]) => [source.replace(/\/index\.ts$/, ''), name]))
  for (const module of project.children) module.name = names.get(module.name) ?? module.name
  await app.generateOutputs(project)
  for (const path of readdirSync(into, { recursive: true }).filter((each) => each.endsWith('.md'))) {
    const page = join(into, path)
    const types = relative(dirname(page), join(into, 'sluice.md')).replaceAll(sep, '/')
    writeFileSync(page, tidyPage(readFileSync(page, 'utf8'), path === 'sluice.md' ? '' : types))
  }
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new SetupError('the reference has the problems above')
}

const FORM = {
  plugin: ['typedoc-plugin-markdown'],
  readme: 'none',
  // The project's own compiler has checked the sources; this is another one.
  skipErrorChecking: true,
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  disableSources: true,
  logLevel: 'Warn',
  validation: { notExported: false, invalidLink: true },
  router: 'module',
  entryFileName: 'index',
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  useHTMLAnchors: true,
  expandObjects: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  propertyMembersFormat: 'table',
  tableColumnSettings: { hideSources: true, hideInherited: true, hideModifiers: true, hideOverrides: true },
  pageTitleTemplates: { index: 'API', module: ({ name }) => name },
}
