# SPDX-License-Identifier: GPL-2.0-or-later
# Four workers of a Ruby program take jobs from a queue and store their results below one lock.
require 'json'

JOBS = Queue.new
LOCK = Mutex.new
RESULTS = []

def prepare(n)
  JSON.generate((1..200).map { |i| { id: n, square: i * i } })
end

def store(text)
  LOCK.synchronize do
    RESULTS << text.size
    sleep 0.005 # a slow disk
  end
end

def work
  while (n = JOBS.pop)
    store(prepare(n))
  end
end

400.times { |n| JOBS << n }
JOBS.close
4.times.map { Thread.new { work } }.each(&:join)
