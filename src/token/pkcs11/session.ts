// One session with a token, in a process of its own: a crash of the module does not affect the server.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { SigningUnavailable } from '../keys/signer.ts'
import type { OpenAnswer, OpenRequest, SignAnswer } from './messages.ts'

/** A session that returns no signature for this long is ended. */
const ANSWER_TIMEOUT_MS = 5000
/** Time limit for opening a session, including the start of its process. */
const OPENING_TIMEOUT_MS = 10_000

/** An open session. */
export interface Session {
  /** SPKI PEM. */
  readonly publicKey: string
  /** Throws `SigningUnavailable` when the session was lost. */
  sign(input: Buffer): Promise<Buffer>
  end(): void
}

/** Thrown when the token has refused the PIN: trying again could lock it. */
export class PinRefused extends SigningUnavailable {}

interface Waiting {
  readonly resolve: (signature: Buffer) => void
  readonly reject: (error: unknown) => void
}

/** Opens a session; `onEnd` is called once it is lost. Throws `SigningUnavailable`. */
export async function openSession(
  request: OpenRequest,
  {
    env,
    onEnd,
    timeoutMilliseconds = ANSWER_TIMEOUT_MS,
  }: {
    readonly env: Readonly<Record<string, string | undefined>>
    readonly onEnd: () => void
    readonly timeoutMilliseconds?: number
  },
): Promise<Session> {
  const path = fileURLToPath(new URL('pkcs11-worker.ts', import.meta.url))
  // The output of the module is discarded: it might contain secrets.
  const child = fork(path, { env, serialization: 'advanced', stdio: 'ignore' })
  const waiting: Waiting[] = []
  const opening = Promise.withResolvers<string>()
  let isOpen = false
  let failure = 'its process has ended'
  let error: SigningUnavailable | undefined
  let answerTimeout: NodeJS.Timeout | undefined

  function expectAnswer(milliseconds: number): void {
    clearTimeout(answerTimeout)
    answerTimeout = setTimeout(() => {
      failure = `it has not responded for ${milliseconds / 1000} seconds`
      child.kill('SIGKILL')
    }, milliseconds)
  }
  function ended(): void {
    if (error) return
    clearTimeout(answerTimeout)
    error = new SigningUnavailable(failure)
    opening.reject(error)
    for (const { reject } of waiting.splice(0)) reject(error)
    if (isOpen) onEnd()
  }
  function opened(answer: OpenAnswer): void {
    clearTimeout(answerTimeout)
    if ('publicKey' in answer) {
      isOpen = true
      child.unref()
      child.channel?.unref() // an idle session keeps no process alive
      return opening.resolve(answer.publicKey)
    }
    failure = answer.failure
    opening.reject(answer.isPinRefused ? new PinRefused(failure) : new SigningUnavailable(failure))
  }
  child.on('message', (message: OpenAnswer | SignAnswer) => {
    if (!isOpen) return opened(message as OpenAnswer) // the first one
    if (!(message instanceof Uint8Array)) {
      if ('failure' in message) failure = message.failure
      return // it ends
    }
    waiting.shift()?.resolve(Buffer.from(message))
    if (waiting.length > 0) return void answerTimeout?.refresh()
    clearTimeout(answerTimeout)
    child.channel?.unref()
  })
  child.on('error', cause => {
    failure = `its process failed: ${cause.message}`
    ended()
  })
  child.on('exit', ended)
  child.on('disconnect', () => child.kill('SIGKILL'))
  expectAnswer(OPENING_TIMEOUT_MS)
  child.send(request)
  const publicKey = await opening.promise
  return {
    publicKey,
    sign(input) {
      if (error) return Promise.reject(error)
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
      if (waiting.length === 0) {
        expectAnswer(timeoutMilliseconds)
        child.channel?.ref()
      }
      waiting.push({ resolve, reject })
      child.send(input)
      return promise
    },
    end: () => void child.kill('SIGKILL'),
  }
}
