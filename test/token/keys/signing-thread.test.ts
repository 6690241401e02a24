import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { SigningAlgorithm } from '../../../src/model/tokens/signing-key.ts'
import { verifyText } from '../../../src/token/keys/jws-algorithms.ts'
import { createSigningThread } from '../../../src/token/keys/signing-thread.ts'
import type { SigningThread } from '../../../src/token/keys/signing-thread.ts'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const PAIRS = [
  ['ES256', ec],
  ['EdDSA', generateKeyPairSync('ed25519')],
  ['EdDSA', generateKeyPairSync('ed448')], // with longer signatures
] as const

/** Signs many texts with each key concurrently, and verifies each signature. */
async function signWithAll(thread: SigningThread, count: number): Promise<void> {
  const keys = PAIRS.map(([algorithm, { privateKey, publicKey }]) => ({
    sign: thread.signerOf({ algorithm, key: privateKey }),
    own: { algorithm: algorithm satisfies SigningAlgorithm, key: publicKey },
  }))
  const signing = Array.from({ length: count }, (_, number) =>
    keys.map(async ({ sign, own }) => {
      const text = `head.${number}`
      return verifyText(text, await sign(text), own)
    }),
  )
  const verified = await Promise.all(signing.flat())
  assert.deepEqual(verified, Array(count * PAIRS.length).fill(true))
}

describe('Signing thread', () => {
  let folder: string

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-signing-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const count of [1, 8, 9, 100]) {
    it(`signs ${count} texts with each of several keys`, () => signWithAll(createSigningThread(), count))
  }

  it('is started by the first call of isReady', async () => {
    const thread = createSigningThread()
    assert.equal(thread.isReady(), false)
    const deadline = Date.now() + 20_000
    while (!thread.isReady() && Date.now() < deadline) await wait(5)
    assert.equal(thread.isReady(), true)
    await signWithAll(thread, 3)
  })

  for (const [title, source] of [
    ['cannot be started', undefined],
    ['throws when it starts', `throw new Error('broken')`],
    ['ends when it is used', `require('node:worker_threads').parentPort.on('message', () => process.exit(1))`],
    ['fails with an error', `require('node:worker_threads').parentPort.on('message', () => { throw new Error('no') })`],
  ] as const) {
    it(`that ${title} falls back to the main thread, and is not restarted immediately`, async () => {
      const file = join(folder, `${title.replaceAll(' ', '-')}.cjs`)
      if (source !== undefined) writeFileSync(file, source)
      const url = source === undefined ? new URL('https://threads.example') : pathToFileURL(file)
      const thread = createSigningThread(url)
      assert.equal(thread.isReady(), false)
      await signWithAll(thread, 20)
      await wait(50)
      assert.equal(thread.isReady(), false)
      await wait(200)
      assert.equal(thread.isReady(), false)
      await signWithAll(thread, 2)
    })
  }
})
