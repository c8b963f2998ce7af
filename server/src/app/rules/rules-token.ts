import { readFileSync } from 'node:fs'
import { SourceFault } from '../../sources/remote-source.ts'
import { isRulesToken, type RemoteRulesConfig } from '../settings/remote-rules.ts'

/** Reads the token each time: a cloud's tokens live for an hour. */
export function tokenOf({ token, tokenFile }: RemoteRulesConfig): () => string | undefined {
  if (tokenFile === undefined) return () => token
  return () => {
    const text = readToken(tokenFile)
    if (!isRulesToken(text)) throw new SourceFault(`${tokenFile} holds no token`)
    return text
  }
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new SourceFault(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
