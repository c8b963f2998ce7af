import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'

/**
 * node compile.mjs COMPILER CONFIG…: type-checks the files that each config names and the declarations of our packages that these lead
 * to, with a compiler of TypeScript 5, and prints a JSON array of problems for each. The program `tsc` checks every declaration that it
 * has read, also those of frameworks, which takes it three times as long; and it reads them again for every config.
 */
const [compiler, ...configs] = process.argv.slice(2)
const ts = createRequire(import.meta.url)(compiler)

const isOurs = (name) => name.startsWith(`${process.cwd()}/`) && !/\/node_modules\/(?!sluice(-client)?\/)/.test(name)

/** Declarations of others, by their name and by the kind of module that a config takes them for: nothing else changes how they are read. */
const declarations = new Map()

function hostOf(options) {
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  host.getSourceFile = (name, how, ...more) => {
    if (isOurs(name) || !/\.d\.[cm]?ts$/.test(name)) return read(name, how, ...more)
    const key = `${name} ${how.impliedNodeFormat}`
    if (!declarations.has(key)) declarations.set(key, read(name, how, ...more))
    return declarations.get(key)
  }
  return host
}

function problemsOf(config) {
  const { config: json, error } = ts.readConfigFile(config, ts.sys.readFile)
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(json, ts.sys, dirname(resolve(config)))
  const program = ts.createProgram({ rootNames: fileNames, options, host: hostOf(options) })
  const files = program.getSourceFiles().filter(({ fileName }) => isOurs(fileName))
  const diagnostics = [
    ...(error === undefined ? errors : [error]),
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...files.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
  ]
  const problems = diagnostics.map(asText)
  if (files.length <= fileNames.length) problems.push(`no declarations of ours were read, only ${fileNames}`)
  return problems
}

function asText({ file, start = 0, code, messageText }) {
  const text = `error TS${code}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
  if (file === undefined) return text
  const { line, character } = file.getLineAndCharacterOfPosition(start)
  return `${file.fileName}(${line + 1},${character + 1}): ${text}`
}

console.log(JSON.stringify(configs.map(problemsOf)))
