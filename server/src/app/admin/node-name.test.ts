import { expect, it } from 'vitest'
import { nodeName } from './node-name.ts'

it.each([
  ['the pod, or the host', undefined, 8082, 'web-1:8082', 'web-1'],
  ['the host and another port', undefined, 9000, undefined, 'web-1:9000'],
  ['the host and the port that the system chose', undefined, 0, '[::1]:41234', 'web-1:41234'],
  ['the host, before that port is known', undefined, 0, undefined, 'web-1'],
  ['what its settings say', 'edge-1', 0, 'web-1:41234', 'edge-1'],
])('a node is called by %s', (_, given, adminPort, address, name) => {
  expect(nodeName({ nodeName: given, adminPort }, address, 'web-1')).toBe(name)
})
