import { Client, credentials } from '@grpc/grpc-js'

/** Collects what Health/Watch tells: 1 for serving, 2 for not serving, and the status that it ends with. */
export function watch(address: string): { readonly told: number[]; readonly ended: Promise<number> } {
  const client = new Client(address, credentials.createInsecure())
  const same = (bytes: Buffer): Buffer => bytes
  const call = client.makeServerStreamRequest('/grpc.health.v1.Health/Watch', same, same, Buffer.alloc(0))
  const told: number[] = []
  call.on('data', (bytes: Buffer) => told.push(bytes[1]))
  const ended = new Promise<number>((resolve) => {
    call.on('error', (error: { code: number }) => {
      client.close()
      resolve(error.code)
    })
  })
  return { told, ended }
}
