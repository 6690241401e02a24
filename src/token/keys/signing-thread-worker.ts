// The thread of signing-thread.ts.
import { answerQuestions } from '../../base/concurrency/thread-answers.ts'
import { signNow } from './jws-algorithms.ts'
import type { Message, Signatures } from './signing-thread.ts'

answerQuestions(({ lines, ...key }: Message): Signatures => {
  const signatures = lines.split('\n').map(text => signNow(text, key))
  return new Uint8Array(Buffer.concat(signatures)) // of its own memory, because all memory of a view is copied
})
