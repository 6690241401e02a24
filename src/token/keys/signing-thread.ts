// Quick signatures of a busy server, in a thread of their own, several per message (decision 0006).
import { createThread, ThreadEnded } from '../../base/concurrency/thread.ts'
import type { AlgorithmKey } from './jws-algorithms.ts'
import { signNow } from './jws-algorithms.ts'
import type { Signer } from './signer.ts'
import { SigningUnavailable } from './signer.ts'

/** Signing inputs for one key, as they are sent. */
export interface Message extends AlgorithmKey {
  /** One per line: a signing input is base64url and dots. */
  readonly lines: string
}

/** The signatures of a batch, one after another, each of the same length. */
export type Signatures = Uint8Array<ArrayBuffer>

/** Signs off the main thread. */
export interface SigningThread {
  /** Whether the thread is ready; otherwise starts it. It ends when idle. */
  isReady(): boolean
  /** Signs with this key; on the main thread if the thread fails. */
  signerOf(key: AlgorithmKey): Signer
}

/** More inputs per message reduce the cost of each signature; fewer let the thread start earlier. */
const MAX_BATCH = 8

const FILE = new URL('signing-thread-worker.ts', import.meta.url)

/** Starts no thread before it is asked whether it is ready. */
export function createSigningThread(file = FILE): SigningThread {
  const thread = createThread<Message, Signatures>({ file })

  async function signAll(key: AlgorithmKey, texts: readonly string[]): Promise<readonly Buffer[]> {
    try {
      const { buffer, length } = await thread.ask({ ...key, lines: texts.join('\n') })
      const each = length / texts.length
      return texts.map((_, index) => Buffer.from(buffer, index * each, each))
    } catch (error) {
      if (!(error instanceof ThreadEnded)) throw error
      return texts.map(text => signNow(text, key))
    }
  }

  return {
    isReady: () => thread.isReady(),
    signerOf(key) {
      let open: { readonly sign: Signer } | undefined
      return text => {
        open ??= createBatch(texts => {
          open = undefined
          return signAll(key, texts)
        })
        return open.sign(text)
      }
    },
  }
}

/** Signing inputs that are sent together. */
function createBatch(signAll: (texts: readonly string[]) => Promise<readonly Buffer[]>): { readonly sign: Signer } {
  const texts: string[] = []
  const { promise, resolve } = Promise.withResolvers<readonly Buffer[]>()
  const send = (): void => resolve(signAll(texts))
  const turn = setImmediate(send) // when everything that has arrived is read
  return {
    async sign(text) {
      const index = texts.push(text) - 1
      if (texts.length === MAX_BATCH) {
        clearImmediate(turn)
        send()
      }
      const signature = (await promise)[index]
      if (signature === undefined) throw new SigningUnavailable('the thread has left a signature out')
      return signature
    },
  }
}
