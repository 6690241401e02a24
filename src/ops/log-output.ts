// Where the log's text goes: standard output, whose reader may be slow or gone, and whose disk may be full. None of that may
// stop the server or end it, so text that cannot be written is dropped, counted, and reported once writing works again.
import fs from 'node:fs'

/** Characters that are collected before a write, so that a line costs no system call. */
const BLOCK_LENGTH = 16_000
/** Maximum number of characters that wait for a slow reader; further lines are dropped. */
const MAX_WAITING_LENGTH = 8_000_000
const RETRY_MILLISECONDS = 100
/** How often the last text is tried again at the end of the process, every ten milliseconds. */
const LAST_ATTEMPTS = 100

/** The functions of `node:fs` that are used. */
type Files = Pick<typeof fs, 'write' | 'writeSync'>

/** Takes the text of the log; never throws. */
interface LogOutput {
  /** Takes one or more whole lines. */
  readonly write: (lines: string) => void
  /** Starts to write pending lines. */
  readonly flush: () => void
  /** Writes pending lines synchronously, except for those of a write in progress. Gives up after a second. */
  readonly flushSync: () => void
}

/**
 * Writes to a file descriptor: at once where `isImmediate`, else in blocks and in the thread pool. `reportOf` makes the line
 * that tells how many lines were dropped.
 */
export function createLogOutput(
  fd: number,
  {
    isImmediate = false,
    reportOf,
    files = fs,
  }: {
    readonly isImmediate?: boolean
    readonly reportOf: (droppedLines: number) => string
    readonly files?: Files
  },
): LogOutput {
  let waiting = ''
  let isWriting = false
  let droppedLines = 0
  let isTorn = false

  function write(lines: string): void {
    if (waiting.length + lines.length > MAX_WAITING_LENGTH) {
      droppedLines += countOf(lines)
      return
    }
    waiting += lines
    if (isImmediate) flushSync()
    else if (waiting.length >= BLOCK_LENGTH) flush()
  }

  function flush(): void {
    if (isWriting || waiting === '') return
    isWriting = true
    writeRest(taken(), 0)
  }

  function writeRest(block: Buffer, offset: number): void {
    files.write(fd, block, offset, block.length - offset, null, (error, written) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(() => writeRest(block, offset), RETRY_MILLISECONDS).unref()
        return
      }
      if (error === null && offset + written < block.length) {
        writeRest(block, offset + written)
        return
      }
      isWriting = false
      if (error !== null) drop(block, offset)
      else {
        report()
        if (waiting.length >= BLOCK_LENGTH) flush()
      }
    })
  }

  function flushSync(): void {
    const block = taken()
    let attempts = 0
    for (let offset = 0; offset < block.length; ) {
      try {
        offset += files.writeSync(fd, block, offset)
      } catch (error) {
        attempts += 1
        const { code } = error as NodeJS.ErrnoException // of `writeSync`
        if (code !== 'EAGAIN' || attempts > LAST_ATTEMPTS) {
          drop(block, offset)
          return
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
    }
    report()
  }

  function taken(): Buffer {
    const block = Buffer.from(waiting)
    waiting = ''
    return block
  }

  function drop(block: Buffer, offset: number): void {
    droppedLines += countOf(block.toString('utf8', offset))
    isTorn ||= offset > 0 && block[offset - 1] !== NEWLINE
  }

  /** After a write that worked. */
  function report(): void {
    if (droppedLines === 0) return
    const line = reportOf(droppedLines)
    waiting = `${isTorn ? '\n' : ''}${line}${waiting}`
    droppedLines = 0
    isTorn = false
  }

  return { write, flush, flushSync }
}

const NEWLINE = 0x0a

const countOf = (lines: string): number => lines.split('\n').length - 1
