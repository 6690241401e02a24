import assert from 'node:assert/strict'
import { closeSync, openSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createLogOutput } from '../../src/ops/log-output.ts'

const reportOf = (lines: number): string => `${lines} lines lost\n`
const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error(code), { code })

type Callback = (error: NodeJS.ErrnoException | null, written: number) => void

/** A file whose writes do what `next` says: fail with a code, or take at most so many bytes. */
function fakeFile(): { written: string; next: (string | number)[]; files: never; pending: (() => void)[] } {
  const file = { written: '', next: [] as (string | number)[], pending: [] as (() => void)[] }
  const take = (block: Buffer, offset: number): number => {
    const step = file.next.shift() ?? block.length
    if (typeof step === 'string') throw failure(step)
    const part = block.subarray(offset, offset + step)
    file.written += part.toString()
    return part.length
  }
  const write = (_fd: number, block: Buffer, offset: number, _length: number, _at: null, done: Callback): void => {
    file.pending.push(() => {
      try {
        done(null, take(block, offset))
      } catch (error) {
        done(error as NodeJS.ErrnoException, 0)
      }
    })
  }
  const writeSync = (_fd: number, block: Buffer, offset: number): number => take(block, offset)
  return Object.assign(file, { files: { write, writeSync } as never })
}

/** Completes every started write. */
function settle({ pending }: { pending: (() => void)[] }): void {
  for (let each = pending.shift(); each; each = pending.shift()) each()
}

describe('The log output', () => {
  it('does not throw in the last flush on a full disk', () => {
    const fd = openSync('/dev/full', 'w')
    const output = createLogOutput(fd, { reportOf })
    output.write('one\n')
    assert.doesNotThrow(() => output.flushSync())
    closeSync(fd)
  })

  it('continues after a partial write', () => {
    const file = fakeFile()
    const output = createLogOutput(1, { reportOf, files: file.files })
    file.next.push(3, 2)
    output.write('one\ntwo\n')
    output.flush()
    settle(file)
    assert.equal(file.written, 'one\ntwo\n')
    file.next.push(1)
    output.write('three\n')
    output.flushSync()
    assert.equal(file.written, 'one\ntwo\nthree\n')
  })

  for (const code of ['EPIPE', 'ENOSPC', 'EIO']) {
    it(`drops lines while writing fails with ${code}, then reports how many`, () => {
      const file = fakeFile()
      const output = createLogOutput(1, { reportOf, files: file.files })
      file.next.push(code, 2, code, code)
      output.write('one\ntwo\n')
      output.flush()
      settle(file)
      output.write('three\n')
      output.flush()
      settle(file)
      output.write('four\n')
      output.flushSync()
      output.write('five\n')
      output.flush()
      settle(file)
      output.flush()
      settle(file)
      assert.equal(file.written, 'thfive\n\n4 lines lost\n')
    })
  }

  it('limits its buffer for a blocked reader', () => {
    const file = fakeFile()
    const output = createLogOutput(1, { reportOf, files: file.files })
    const line = `${'x'.repeat(999_999)}\n`
    for (let count = 0; count < 20; count += 1) output.write(line)
    settle(file)
    output.flushSync()
    output.flushSync()
    // One is under way, eight wait.
    assert.equal(file.written.length, 9_000_000 + '11 lines lost\n'.length)
  })

  it('retries when the reader is busy', () => {
    const file = fakeFile()
    const output = createLogOutput(1, { reportOf, files: file.files })
    file.next.push('EAGAIN', 'EAGAIN')
    output.write('one\n')
    output.flushSync()
    assert.equal(file.written, 'one\n')
  })
})
