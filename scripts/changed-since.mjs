import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { root, SetupError } from './setup.mjs'

/**
 * Throws unless `changed`, the value of --changed, is a commit; true stands for the last one. Without this a name that
 * git does not know would be no change, and no test would run.
 */
export async function requireCommit(changed, dir = root) {
  const name = changed === true ? 'HEAD' : changed
  try {
    await promisify(execFile)('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], {
      cwd: dir,
    })
  } catch (error) {
    if (error.code === 'ENOENT') throw new SetupError('--changed asks git, which is not installed')
    throw new SetupError(
      `--changed ${name}: git has no such commit here; paths come before the flag, as in: npm test -- src/core --changed`,
    )
  }
}
