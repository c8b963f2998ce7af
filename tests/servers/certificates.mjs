// @ts-check
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { requireCommand } from '../../scripts/system-packages.mjs'

const execute = promisify(execFile)

/**
 * Writes an authority of its own into a folder (ca.crt), and a certificate for a server on loopback (server.crt,
 * server.key) and for a client (client.crt, client.key) that it signs.
 * @param {string} dir
 */
export async function makeCertificates(dir) {
  await issue(dir, 'ca', ['-addext', 'basicConstraints=critical,CA:TRUE'])
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  await Promise.all([issue(dir, 'server', signed), issue(dir, 'client', signed)])
  const [ca, cert, key] = ['ca.crt', 'client.crt', 'client.key'].map((file) => readFileSync(join(dir, file), 'utf8'))
  return { ca, cert, key }
}

/**
 * @param {string} dir
 * @param {string} name
 * @param {string[]} extra
 */
async function issue(dir, name, extra) {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`]
  const certificate = ['-out', `${name}.crt`, '-subj', `/CN=sluice test ${name}`, '-days', '2']
  await execute(requireCommand('openssl'), ['req', '-x509', ...key, ...certificate, ...extra], { cwd: dir })
}
