// A stream between the socket and the LDAP library: splits input into messages, validates and counts them, and passes
// them on one at a time.
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { checkedMessage, endsAtSizeLimit, messageLength, NotLdap } from './ldap-message.ts'

/** Maximum input of one connection. */
const MAX_BYTES = 1024 * 1024
/** A separate limit, because many small messages cost more than their bytes. */
const MAX_MESSAGES = 10_000

/** The messages of one connection; ends with the socket, and destroys it on invalid input. */
export class MessageStream extends Duplex {
  /** The socket property by which the library checks for a connection. */
  readonly readyState = 'open'
  readonly #socket: Socket
  readonly #chunks: Buffer[] = []
  #waiting = 0
  #received = 0
  #messages = 0
  #isDetached = false
  #isResting = false
  /** Why this side closed the connection. */
  failure: Error | undefined
  /** Whether the last search ended at a size limit, which the library conceals. */
  endedAtSizeLimit = false

  constructor(socket: Socket) {
    super({ readableObjectMode: true }) // keeps messages separate
    this.#socket = socket
    socket.on('data', this.#take)
    socket.once('close', this.#end)
    if (socket.destroyed) this.#end()
  }

  /** Releases the socket after a single response; throws if further bytes followed it. */
  detach(): Socket {
    this.#release()
    this.#socket.pause()
    // Bytes sent in plaintext must not be read as part of the TLS session.
    if (this.#messages !== 1 || this.#waiting > 0) throw new NotLdap()
    return this.#socket
  }

  /** Nothing is expected until `wake`: anything that the other side sends meanwhile ends the connection. */
  rest(): void {
    this.#isResting = true
  }

  /** Whether the connection can be used again, with the limits of a new one. */
  wake(): boolean {
    this.#isResting = false
    this.#received = 0
    this.#messages = 0
    return !this.destroyed && this.#waiting === 0
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#isDetached) {
      this.#release()
      this.#socket.destroy()
    }
    done(error)
  }

  #release(): void {
    this.#isDetached = true
    this.#socket.off('data', this.#take).off('close', this.#end)
  }

  readonly #end = (): void => void this.destroy()

  readonly #take = (chunk: Buffer): void => {
    try {
      if (this.#isResting) throw new NotLdap()
      this.#received += chunk.length
      if (this.#received > MAX_BYTES) throw tooMuch()
      this.#chunks.push(chunk)
      this.#waiting += chunk.length
      this.#cut()
      // The library reads each message at once. Without a pause, all that has arrived would be read before anything else runs.
      this.#socket.pause()
      setImmediate(this.#resume)
    } catch (cause) {
      this.failure = cause instanceof Error ? cause : new NotLdap()
      this.destroy()
    }
  }

  readonly #resume = (): void => {
    if (!this.#isDetached) this.#socket.resume()
  }

  /** Concatenates chunks only once a message can be complete, so that many small chunks stay cheap. */
  #cut(): void {
    const head = Buffer.concat(this.#chunks.length > 1 ? this.#chunks.slice(0, 6) : this.#chunks)
    const first = messageLength(head)
    if (first === undefined || first > this.#waiting) return
    let bytes: Buffer = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : head
    for (
      let length = messageLength(bytes);
      length !== undefined && length <= bytes.length;
      length = messageLength(bytes)
    ) {
      this.#messages += 1
      if (this.#messages > MAX_MESSAGES) throw tooMuch()
      const response = checkedMessage(bytes.subarray(0, length))
      this.endedAtSizeLimit = endsAtSizeLimit(response)
      this.push(response)
      bytes = bytes.subarray(length)
    }
    this.#chunks.length = 0
    if (bytes.length > 0) this.#chunks.push(bytes)
    this.#waiting = bytes.length
  }
}

const tooMuch = (): Error => new Error('sent too much data')
