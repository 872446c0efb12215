//! Where entries are opened. Over a network a job mostly waits, so there are many, and the runtime
//! drives them. In a folder a job works: there are as many as cores, on threads that the runtime does
//! not know, where a read is a system call and not a visit to another thread.

use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use siegel_rekor::LogReader;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Jobs at a time over a network.
const REMOTE: usize = 32;

/// A job, which is told how to wait.
type Job = Box<dyn FnOnce(&Wait) + Send>;

/// How a job waits for what it reads.
pub(super) enum Wait {
    /// The runtime does it.
    Runtime(Handle),
    /// This thread does it, asleep.
    Thread,
}

impl Wait {
    pub(super) fn on<F: Future>(&self, future: F) -> F::Output {
        match self {
            Self::Runtime(runtime) => runtime.block_on(future),
            Self::Thread => block_on(future),
        }
    }
}

/// Those who do the jobs, while this value lives.
pub(super) enum Workers {
    Remote(Handle),
    Local(Sender<Job>, usize),
}

impl Workers {
    /// As many as this log can use.
    pub(super) fn of(log: &LogReader) -> Self {
        let LogReader::Folder(_) = log else {
            return Self::Remote(Handle::current());
        };
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let (give, take) = channel();
        let take = Arc::new(Mutex::new(take));
        for _ in 0..cores {
            let take = Arc::clone(&take);
            std::thread::spawn(move || work(&take));
        }
        Self::Local(give, cores)
    }

    /// How many jobs keep all of them busy while the next entries are read.
    pub(super) fn most(&self) -> usize {
        match self {
            Self::Remote(_) => REMOTE,
            Self::Local(_, cores) => 4 * cores,
        }
    }

    /// Begins a job. What it returns is received; nothing comes if it died.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Wait) -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (done, result) = oneshot::channel();
        let job = move |wait: &Wait| {
            // Nobody waits any more if the reading was given up.
            let _ = done.send(job(wait));
        };
        match self {
            Self::Remote(runtime) => {
                let wait = Wait::Runtime(runtime.clone());
                runtime.spawn_blocking(move || job(&wait));
            }
            Self::Local(workers, _) => {
                // They end only with this value; a job that was not taken is one that died.
                let _ = workers.send(Box::new(job));
            }
        }
        result
    }
}

/// Does jobs until nobody can give any more.
fn work(jobs: &Mutex<Receiver<Job>>) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(job) => job(&Wait::Thread),
            Err(_) => return,
        }
    }
}

struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future on this thread until it is ready.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Sleeper(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
