/** Warns the operators of a process: as Node.js does it, and where there is no such process, on the console. */
export function warnProcess(text: string): void {
  const { process } = globalThis as { readonly process?: Pick<NodeJS.Process, 'emitWarning'> }
  if (process?.emitWarning === undefined) console.warn(text)
  else process.emitWarning(text, 'SluiceWarning')
}
