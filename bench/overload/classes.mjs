/**
 * What requests are about, from what matters most to what matters least: their share of the load, and how they are
 * sent.
 */
export const CLASSES = [
  { name: 'critical', share: 0.1, path: '/pay', method: 'POST' },
  { name: 'write', share: 0.2, path: '/orders', method: 'POST' },
  { name: 'read', share: 0.3, path: '/pages', method: 'GET' },
  { name: 'test', share: 0.4, path: '/test', method: 'GET' },
]

/** A routes file that protects the upstream, as all do by default, or does not. */
export function routesText(port, isAdaptive) {
  const routes = CLASSES.map(({ name, path }) => `  - { name: ${name}, path: ${path}, priority: ${name} }`)
  const adaptive = isAdaptive ? '' : ', concurrency: off'
  return [
    `upstreams: { app: { addresses: ['http://127.0.0.1:${port}']${adaptive} } }`,
    'limits: [1000000/1m]',
    'routes:',
    ...routes,
    '',
  ].join('\n')
}
