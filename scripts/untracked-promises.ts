// Loaded before node:test, whose runner follows every promise, timer and socket of the process in order to name the test that left
// an error behind. That takes up to a third of the processor time of the tests: half for promises, the rest for the others, which
// the garbage collector has to report one by one. Without it, such an error fails the file and not the test. What remains is what
// the runner needs to know in which suite it is.
import hooks from 'node:async_hooks'

const { createHook } = hooks
hooks.createHook = callbacks =>
  createHook({
    init(id, type, trigger, resource) {
      if (type === 'Test') callbacks.init?.(id, type, trigger, resource)
    },
    trackPromises: false,
  })
