import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ephemeral ports (32768 and up on Linux): the system does not give a port of this range to another test's
 * connection between the check and its use.
 */
const RANGE = [10_000, 32_000] as const
const ATTEMPTS = 20

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const port = randomInt(...RANGE)
    if (await isFree(port)) return port
  }
  throw new Error('no port on 127.0.0.1')
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}
